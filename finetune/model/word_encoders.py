"""Sentence encoders on word vectors: CNN, PCNN and attention over a bidirectional LSTM.

They read the same token ids, masks and entity positions as the pretrained encoders do and give one vector a
sentence. This file travels with a saved model: flat, relative imports only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

try:  # which leave values alone that were loaded
    from transformers import initialization as init
except ImportError:  # transformers 4 asks for initial values of modules that were not loaded only
    init = nn.init  # type: ignore[assignment, misc]

PIECES = {"cnn": 1, "pcnn": 3}
ARCHITECTURES = (*PIECES, "att_blstm")

# Of word and position vectors that are drawn at random; chosen among 1, 0.3 and 0.1 by the validation F1 of
# `cnn` and `att_blstm` on SemEval-2010 Task 8.
RANDOM_SD = 0.3


class WordEncoderConfig(PretrainedConfig):
    """Shape of a word encoder; the defaults are those of [A]'s release.

    Attributes:
        architecture: "cnn" (Zeng et al. 2014), "pcnn" (Zeng et al. 2015) or "att_blstm" (Zhou et al. 2016).
        vocab_size: Tokens with a vector.
        num_fixed_words: The first so many of them keep their vector: words that training never sees.
        word_size: Width of a word vector.
        position_size: Width of a position vector; each word has two, one for its distance to each entity.
        max_distance: Distances beyond it, to either side, count as this one.
        num_filters: Filters of the convolution.
        window: Words that a filter sees, an odd number.
        lstm_size: Width of the LSTM's states in each direction.
        embedding_dropout: Share of the input numbers that training drops.
        lstm_dropout: Share of the LSTM's output that training drops.
        hidden_dropout_prob: Share of the sentence vector that training drops; the classifier applies it.
    """

    model_type = "word_encoder"

    def __init__(
        self,
        *,
        architecture: str = "cnn",
        vocab_size: int = 2,
        num_fixed_words: int = 0,
        word_size: int = 50,
        position_size: int = 5,
        max_distance: int = 75,
        num_filters: int = 230,
        window: int = 3,
        lstm_size: int = 100,
        embedding_dropout: float = 0.0,
        lstm_dropout: float = 0.0,
        hidden_dropout_prob: float = 0.5,
        pad_token_id: int | None = 0,
        **kwargs: Any,
    ) -> None:
        """Check the values.

        Raises:
            ValueError: An unknown architecture or an even window.
        """
        super().__init__(**kwargs)
        self.pad_token_id = pad_token_id
        self.architecture = architecture
        self.vocab_size = vocab_size
        self.num_fixed_words = num_fixed_words
        self.word_size = word_size
        self.position_size = position_size
        self.max_distance = max_distance
        self.num_filters = num_filters
        self.window = window
        self.lstm_size = lstm_size
        self.embedding_dropout = embedding_dropout
        self.lstm_dropout = lstm_dropout
        self.hidden_dropout_prob = hidden_dropout_prob
        if self.architecture not in ARCHITECTURES:
            raise ValueError(
                f"`architecture` must be one of {', '.join(ARCHITECTURES)}; got {self.architecture!r}."
            )
        if self.window < 1 or self.window % 2 == 0:
            raise ValueError(f"`window` must be a positive odd number of words; got {self.window}.")

    @property
    def hidden_size(self) -> int:
        """Width of a sentence vector."""
        return PIECES.get(self.architecture, 0) * self.num_filters or self.lstm_size


class WordTable(nn.Module):
    """A vector per word, in two tables: fixed ones for the first ids, trained ones for the rest.

    A word that training never meets would keep its vector in one table, too; but the optimizer would walk
    through all 400,000 rows of a large vectors file at every step.
    """

    def __init__(self, *, num_words: int, num_fixed: int, width: int) -> None:
        """Make room; the values come from the model's initialisation or a file."""
        super().__init__()
        self.fixed = nn.Parameter(torch.empty(num_fixed, width), requires_grad=False)
        self.trained = nn.Parameter(torch.empty(num_words - num_fixed, width))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return vectors of the words, shape (*ids.shape, width)."""
        num_fixed = len(self.fixed)
        if not num_fixed:
            return nn.functional.embedding(ids, self.trained)
        own = nn.functional.embedding((ids - num_fixed).clamp(min=0), self.trained)
        fixed = nn.functional.embedding(ids.clamp(max=num_fixed - 1), self.fixed)
        return torch.where((ids < num_fixed).unsqueeze(-1), fixed, own)

    @torch.no_grad()
    def set_vectors(self, ids: torch.Tensor, values: torch.Tensor) -> None:
        """Give these words these vectors, shapes (n,) and (n, width)."""
        num_fixed = len(self.fixed)
        self.fixed[ids[ids < num_fixed]] = values[ids < num_fixed]
        self.trained[ids[ids >= num_fixed] - num_fixed] = values[ids >= num_fixed]


class WordEncoder(PreTrainedModel):
    """Word and position vectors, then a convolution or an LSTM, then one vector a sentence.

    The position of a word is its signed distance to an entity's first token (negative in front of it),
    clipped at `max_distance`; [A]'s release takes the distance without its sign. Padding changes nothing.

    References: Zeng et al. (2014), "Relation Classification via Convolutional Deep Neural Network", 3.4,
    without the lexical features: tanh of each filter's maximum over the sentence. Zeng et al. (2015),
    "Distant Supervision for Relation Extraction via Piecewise CNNs", 3.3: the maximum in each of three
    pieces; here the tokens of an entity start its piece, and an empty piece gives 0. Zhou et al. (2016),
    "Attention-Based Bidirectional LSTM Networks for Relation Classification", 3.3: the two directions are
    summed, h = tanh(H softmax(w tanh(H))). They show the entities by four marker words (the `markers` input)
    and have no position vectors; [A]'s release has these for all encoders, and so have these.
    """

    config_class = WordEncoderConfig
    base_model_prefix = "encoder"
    main_input_name = "input_ids"

    def __init__(self, config: WordEncoderConfig) -> None:
        """Build the layers of `config.architecture`."""
        super().__init__(config)
        self.words = WordTable(
            num_words=config.vocab_size, num_fixed=config.num_fixed_words, width=config.word_size
        )
        distances = 2 * config.max_distance + 1
        self.head_positions = nn.Embedding(distances, config.position_size)
        self.tail_positions = nn.Embedding(distances, config.position_size)
        self.embedding_dropout = nn.Dropout(config.embedding_dropout)
        width = config.word_size + 2 * config.position_size
        if config.architecture == "att_blstm":
            self.forward_lstm = nn.LSTM(width, config.lstm_size, batch_first=True)
            self.backward_lstm = nn.LSTM(width, config.lstm_size, batch_first=True)
            self.lstm_dropout = nn.Dropout(config.lstm_dropout)
            self.attention = nn.Linear(config.lstm_size, 1, bias=False)
        else:
            self.convolution = nn.Linear(config.window * width, config.num_filters)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the table of the words."""
        return self.words

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Draw the values of one module: Xavier for the layers, normal for the vectors."""
        if isinstance(module, WordTable):
            init.normal_(module.fixed, std=RANDOM_SD)
            init.normal_(module.trained, std=RANDOM_SD)
        elif isinstance(module, nn.Embedding):
            init.normal_(module.weight, std=RANDOM_SD)
        elif isinstance(module, nn.Linear):
            init.xavier_normal_(module.weight)
            if module.bias is not None:
                init.zeros_(module.bias)
        else:
            super()._init_weights(module)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        entity_starts: torch.Tensor,
    ) -> BaseModelOutputWithPooling:
        """Return states of the words and the vector of each sentence.

        Args:
            input_ids: Token ids, shape (rows, length).
            attention_mask: 1 for tokens, 0 for the padding behind them, same shape.
            entity_starts: Token positions of the first token of head and tail, shape (rows, 2).

        Returns:
            `last_hidden_state` (rows, length, filters or LSTM width), `pooler_output` (rows, hidden_size).
        """
        if not input_ids.shape[1]:  # no row has a word: one column of padding
            input_ids, attention_mask = (nn.functional.pad(x, (0, 1)) for x in (input_ids, attention_mask))
        words = attention_mask.bool()
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        limit = self.config.max_distance
        distances = (places[None, :, None] - entity_starts[:, None, :]).clamp(-limit, limit) + limit
        vectors = torch.cat(
            [
                self.words(input_ids),
                self.head_positions(distances[:, :, 0]),
                self.tail_positions(distances[:, :, 1]),
            ],
            dim=-1,
        )
        vectors = self.embedding_dropout(vectors) * words.unsqueeze(-1)
        if self.config.architecture == "att_blstm":
            states = self.lstm_dropout(self.lstm_states(vectors, words))
            sentences = (self.attention_weights(states, words).unsqueeze(-1) * states).sum(dim=1)
        else:
            states = self.convolution(windows(vectors, self.config.window))
            pieces = torch.zeros_like(input_ids)
            if self.config.architecture == "pcnn":
                pieces = (places[None, :, None] >= entity_starts[:, None, :]).sum(dim=-1)
            num_pieces = PIECES[self.config.architecture]
            sentences = piecewise_maximum(states, pieces.masked_fill(~words, -1), num_pieces)
        return BaseModelOutputWithPooling(last_hidden_state=states, pooler_output=torch.tanh(sentences))

    def lstm_states(self, vectors: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Sum of the two directions' states, shape (rows, length, lstm_size)."""
        # The sentence is turned round inside its own length, so that the padding stays behind it and both
        # directions are plain LSTMs; packed sequences are several times slower on a CPU.
        places = torch.arange(vectors.shape[1], device=vectors.device)
        lengths = words.sum(dim=1, keepdim=True)
        turned = (lengths - 1 - places).clamp(min=0).unsqueeze(-1)
        ahead, _ = self.forward_lstm(vectors)
        back, _ = self.backward_lstm(vectors.gather(1, turned.expand(-1, -1, vectors.shape[2])))
        return ahead + back.gather(1, turned.expand(-1, -1, back.shape[2]))

    def attention_weights(self, states: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        """Return share of each word in the sentence's vector, float32, shape (rows, length); a row sums to
        one.
        """
        scores = self.attention(torch.tanh(states)).squeeze(-1).float()
        return scores.masked_fill(~words, torch.finfo(scores.dtype).min).softmax(dim=1)


def windows(vectors: torch.Tensor, width: int) -> torch.Tensor:
    """Return each word's vector with those of its neighbours, zeros beyond the ends.

    >>> windows(torch.tensor([[[1.0], [2.0]]]), 3).tolist()
    [[[0.0, 1.0, 2.0], [1.0, 2.0, 0.0]]]
    """
    side, length = width // 2, vectors.shape[1]
    padded = nn.functional.pad(vectors, (0, 0, side, side))
    return torch.cat([padded[:, at : at + length] for at in range(width)], dim=-1)


def piecewise_maximum(states: torch.Tensor, pieces: torch.Tensor, num_pieces: int) -> torch.Tensor:
    """Return maximum over the words of each piece, shape (rows, num_pieces * width); 0 where a piece is
    empty.

    Args:
        states: Shape (rows, length, width).
        pieces: The number of each word's piece, -1 for padding, shape (rows, length).
        num_pieces: Pieces that there are.

    >>> piecewise_maximum(torch.tensor([[[1.0], [3.0], [-2.0], [9.0]]]), torch.tensor([[0, 0, 2, -1]]), 3)
    tensor([[ 3.,  0., -2.]])
    """
    tops = []
    for piece in range(num_pieces):
        inside = (pieces == piece).unsqueeze(-1)
        top = states.masked_fill(~inside, float("-inf")).max(dim=1).values
        tops.append(top.masked_fill(~inside.any(dim=1), 0.0))
    return torch.cat(tops, dim=1)


AutoConfig.register(WordEncoderConfig.model_type, WordEncoderConfig, exist_ok=True)
AutoModel.register(WordEncoderConfig, WordEncoder, exist_ok=True)
