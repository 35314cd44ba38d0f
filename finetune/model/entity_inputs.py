"""How the two entities are shown to the encoder: the eight input formats, and what each puts into the text.

[C] is Baldini Soares et al. (2019), "Matching the Blanks"; [D] is Zhou and Chen (2021), "An Improved
Baseline for Sentence-level Relation Extraction"; "prompt" is the text behind the sentence of `prompt`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .markers import MarkerTokens

# Input format -> the representations that a paper defines for it: [C] Figure 3, variants a to f, and [D]
# section 3, which takes the states at the two start markers (or masks) whatever the input.
DEFINED = {
    "plain": ("cls", "mention_pooling"),
    "positions": ("mention_pooling",),
    "markers": ("cls", "mention_pooling", "entity_start"),
    "typed_markers": ("entity_start",),
    "markers_punct": ("entity_start",),
    "typed_markers_punct": ("entity_start",),
    "entity_mask": ("entity_start",),
}
# The state at a row's last token, the only one that has seen all of it where an encoder reads left to right.
LAST_TOKEN = "last_token"
# With that for each input with something in the text, and the input whose sentence is plain and has a prompt
# behind it.
INPUTS = {
    name: (several if name in ("plain", "positions") else (*several, LAST_TOKEN))
    for name, several in DEFINED.items()
} | {"prompt": ("masks",)}
# The representation of an encoder that makes its own vector of a sentence and reads the entities' places: it
# goes with every input but "positions", which would tell them twice, and "prompt", which is no sentence.
SENTENCE = "sentence"
TYPED = ("typed_markers", "typed_markers_punct", "entity_mask")
# The type of an entity that has none.
UNTYPED = "entity"
Four = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def check_combination(*, input_format: str, representation: str) -> None:
    """Return None when one of the papers defines the representation for the input, or it is SENTENCE.

    Raises:
        ValueError: An unknown input, or a combination that neither paper defines, with the reason.

    >>> check_combination(input_format="markers", representation="entity_start")
    """
    if input_format not in INPUTS:
        raise ValueError(f"`input` must be one of {', '.join(INPUTS)}; got {input_format!r}.")
    if representation in INPUTS[input_format] or (
        representation == SENTENCE and input_format not in ("positions", "prompt")
    ):
        return
    if "prompt" in (input_format, *(name for name in INPUTS if representation in INPUTS[name])):
        why = "only a prompt has masks, and its masks are what counts (Han et al., 2021)"
    elif representation == SENTENCE:
        why = "encoders that make a vector of the sentence have position vectors of their own"
    elif representation == "entity_start":
        why = "it takes the states at the start markers, and this input has none"
    elif representation == LAST_TOKEN:
        why = "it would not know where the entities are"
    elif input_format in ("plain", "positions", "markers"):
        why = "Baldini Soares et al. (2019), Figure 3, do not define it"
    else:
        why = "Zhou and Chen (2021), section 3, define this input with the states at the entities' start only"
    others = [name for name, possible in INPUTS.items() if representation in possible]
    raise ValueError(
        f"the representation {representation!r} does not go with the input {input_format!r}: {why}. "
        f"{input_format} goes with {', '.join(INPUTS[input_format])}; {representation} with "
        f"{', '.join(others) or ('the other inputs' if representation == SENTENCE else 'no input')}."
    )


def short_type(types: str) -> str:
    """Return the last path part of the first of several types.

    >>> short_type("/influence/influence_node,/people/deceased_person"), short_type("CITY"), short_type("")
    ('influence_node', 'CITY', 'entity')
    """
    return types.split(",")[0].strip().rstrip("/").rpartition("/")[2] or UNTYPED


# Values of `classifier_head` of earlier versions, which saved models and settings may still have.
OLD_HEADS = {"ranking": "crcnn"}


def check_head(classifier_head: str, *, representation: str, multi_label: bool) -> None:
    """Return None when the head goes with the representation, and with separate relations where asked for.

    Raises:
        ValueError: "label_words" without "masks" or the other way round; a head that compares relations.
    """
    if (classifier_head == "label_words") != (representation == "masks"):
        raise ValueError(
            f"the classifier head {classifier_head!r} does not go with the representation "
            f"{representation!r}: 'label_words' scores words at masks, and masks have no other scores."
        )
    if classifier_head in ("crcnn", "label_words", "type_restriction") and multi_label:
        raise ValueError(
            f"the classifier head {classifier_head!r} ranks the relations of a unit against each other, so "
            "it does not go with `multi_label`; leave one of them out."
        )


@dataclass(frozen=True)
class EntityInput:
    """An input format and the entity types that it has tokens for.

    Attributes:
        name: A key of INPUTS.
        head_types: Types that get a token on the head's side; those of the training rows, sorted.
        tail_types: The same for the tail.
    """

    name: str = "markers"
    head_types: tuple[str, ...] = ()
    tail_types: tuple[str, ...] = ()

    @property
    def needs_types(self) -> bool:
        """Whether the entities' types are part of the input."""
        return self.name in TYPED

    @property
    def masks_entities(self) -> bool:
        """Whether the entities' own words are taken out."""
        return self.name == "entity_mask"

    @property
    def cuts_words(self) -> bool:
        """Whether a token that runs across an entity's border is cut there: where something is put in."""
        return self.name not in ("plain", "positions", "prompt")

    @property
    def is_prompt(self) -> bool:
        """Whether a prompt with masks follows the sentence."""
        return self.name == "prompt"

    @property
    def new_tokens(self) -> tuple[str, ...]:
        """The tokens that the tokenizer must learn; the untyped ones stand for types unseen in training.

        >>> EntityInput("entity_mask", head_types=("person",), tail_types=("city",)).new_tokens
        ('[SUBJ]', '[SUBJ-person]', '[OBJ]', '[OBJ-city]')
        """
        if self.name == "markers":
            return MarkerTokens().tokens
        if self.name not in ("typed_markers", "entity_mask"):
            return ()
        pairs = [(0, kind) for kind in (None, *self.head_types)]
        pairs += [(1, kind) for kind in (None, *self.tail_types)]
        return tuple(token for side, kind in pairs for token in self._typed(side, kind))

    def _typed(self, side: int, kind: str | None) -> tuple[str, ...]:
        """Return the tokens of one entity: start and end marker, or the mask."""
        if self.masks_entities:
            name = ("SUBJ", "OBJ")[side]
            return (f"[{name}]" if kind is None else f"[{name}-{kind}]",)
        name = "SO"[side] if kind is None else f"{'SO'[side]}:{kind}"
        return f"<{name}>", f"</{name}>"

    def unseen(self, types: tuple[str, str] | None) -> int:
        """Return how many of the two types have no tokens of their own (0 for inputs without type tokens)."""
        if types is None or self.name not in ("typed_markers", "entity_mask"):
            return 0
        return (types[0] not in self.head_types) + (types[1] not in self.tail_types)

    def pieces(self, types: tuple[str, str] | None = None) -> Four:
        """Return what stands in front of the head, after it, in front of the tail, after it: tokens and
        words.

        New tokens stand for themselves, everything else is words for the tokenizer. A type that training
        did not see gets the untyped token; an empty type adds no words.

        >>> EntityInput("typed_markers_punct").pieces(("influence_node", "citytown"))
        (('@', '*', 'influence node', '*'), ('@',), ('#', '^', 'citytown', '^'), ('#',))
        >>> EntityInput("entity_mask", ("person",)).pieces(("person", "city"))
        (('[SUBJ-person]',), (), ('[OBJ]',), ())

        Raises:
            ValueError: The input needs types and there are none.
        """
        if self.name == "markers":
            a, b, c, d = MarkerTokens().tokens
            return (a,), (b,), (c,), (d,)
        if self.name == "markers_punct":
            return ("@",), ("@",), ("#",), ("#",)
        if not self.needs_types:
            return (), (), (), ()
        if types is None:
            raise ValueError(f"the input {self.name!r} shows the entities' types, and none were given.")
        if self.name == "typed_markers_punct":
            words = [kind.replace("_", " ").lower() for kind in types]
            of_head = ("*", words[0], "*") if words[0] else ()
            of_tail = ("^", words[1], "^") if words[1] else ()
            return ("@", *of_head), ("@",), ("#", *of_tail), ("#",)
        known = [types[0] in self.head_types, types[1] in self.tail_types]
        head, tail = (self._typed(side, types[side] if known[side] else None) for side in (0, 1))
        return (head[0],), head[1:], (tail[0],), tail[1:]


def entity_input(
    name: str, *, types: Iterable[tuple[str, str]] | None = None, data: str = "the data"
) -> EntityInput:
    """Return the input format with tokens for the types of the training rows.

    Args:
        name: A key of INPUTS.
        types: Head and tail type of each training row; None where the data has none.
        data: What the data is called, for the message.

    Raises:
        ValueError: The input shows types and the data has none.
    """
    if name not in TYPED:
        return EntityInput(name)
    if types is None:
        others = ", ".join(other for other in DEFINED if other not in TYPED)
        raise ValueError(
            f"`--input {name}` shows the entities' types, and {data} has none; inputs that work: {others}."
        )
    heads, tails = zip(*types, strict=True)
    return EntityInput(
        name,
        head_types=tuple(sorted({kind for kind in heads if kind})),
        tail_types=tuple(sorted({kind for kind in tails if kind})),
    )
