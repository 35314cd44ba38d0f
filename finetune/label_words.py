"""`python -m finetune.label_words`: draft a file of label words from the names of relations.

The rules make five words of a name, as far as the encoder's vocabulary has them; the file is to be edited.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from weighted_f1_metric import parse_json, write_text

from .encoders.label_words import COMMAND, word_id
from .training.processes import print_error

Five = tuple[str, str, str, str, str]
NEGATIVE: Five = ("entity", "is", "irrelevant", "to", "entity")
DIRECTED = re.compile(r"(.+)\((e1,e2|e2,e1)\)")
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
PREFIXES = {"per": "person", "org": "organization"}
LINKING = ("of", "in", "at", "by", "for", "to", "from", "with", "on")
# What stands in for a word that the vocabulary lacks, or that two relations have in common.
NOUNS = ("entity", "thing", "one", "it", "name")
FILLERS = ("related", "is", "was", "has", "the", "a", "of", "in", "by", "to", "and", "its", "for", "with")


def generated_words(
    names: Sequence[str], *, negative_relation: str, known: Callable[[str], bool]
) -> dict[str, Five]:
    """Return relation name -> five words that the vocabulary knows, different for every relation.

    The rules read names such as `/people/person/place_of_birth` (Freebase), `per:city_of_birth` (TACRED),
    `Cause-Effect(e2,e1)` (SemEval) and `place_of_birth`. Head and tail words are made singular. A word that
    says nothing takes the place of one that the vocabulary lacks; where two relations would have the same
    words the later one gets another second word, or others in the second and the fourth place.

    Args:
        names: The relations, in order.
        negative_relation: The one that means "none of the relations".
        known: Whether a word is one token of the vocabulary.

    Raises:
        ValueError: The negative relation is not one of them, a name twice, or no words are left.

    >>> made = generated_words(["NA", "/people/person/place_of_birth", "Cause-Effect(e2,e1)"],
    ...     negative_relation="NA", known=lambda word: True)
    >>> for words in made.values(): print(*words)
    entity is irrelevant to entity
    person place of birth place
    effect is related to cause
    """
    if negative_relation not in names:
        raise ValueError(
            f"`--negative_relation` {negative_relation!r} is none of the {len(names)} relations."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"the relation {twice!r} is there more than once.")
    made: dict[str, Five] = {}
    for name in names:
        wanted = NEGATIVE if name == negative_relation else words_of(name)
        for words in _variants(wanted, known, name):
            if words not in made.values():
                made[name] = words
                break
        else:
            raise ValueError(f"{name!r}: all words that the rules can make belong to other relations.")
    return made


def words_of(name: str) -> Five:
    """Return the five words that the rules make of a name, whatever the vocabulary.

    >>> words_of("/business/company/founders"), words_of("per:city_of_birth")
    (('company', 'has', 'the', 'founders', 'founders'), ('person', 'city', 'of', 'birth', 'city'))
    >>> words_of("/location/neighborhood/neighborhood_of")
    ('neighborhood', 'has', 'neighborhood', 'of', 'location')
    """
    directed = DIRECTED.fullmatch(name)
    if directed:
        ends = directed[1].split("-")
        head, tail = (_parts(end) or ["entity"] for end in (ends[0], ends[-1]))
        if directed[2] == "e2,e1":
            head, tail = tail, head
        return head[-1], "is", "related", "to", tail[-1]
    levels = [_parts(level) for level in re.split(r"[/:.](?=.)" if name[:1] == "/" else r"[:.]", name)]
    levels = [level for level in levels if level]
    *above, says = levels or [["related"]]
    kind = above[-1][-1] if above else "entity"
    domain = above[0][-1] if above else "entity"
    linking = next((at for at, word in enumerate(says) if at and word in LINKING), None)
    if says[-1] in LINKING:
        tail_word = domain if domain != kind else "entity"
    elif linking is not None:
        tail_word = says[linking - 1]
    else:
        tail_word = says[-2] if len(says) > 1 and says[-1].endswith("ed") else says[-1]
    between = [*("has", "the")[: max(0, 3 - len(says))], *says[:3]]
    return PREFIXES.get(kind, kind), between[0], between[1], between[2], PREFIXES.get(tail_word, tail_word)


def _parts(text: str) -> list[str]:
    return [part.lower() for part in PART.findall(text)]


def _variants(wanted: Five, known: Callable[[str], bool], name: str) -> Iterator[Five]:
    """The words as far as the vocabulary has them, then with others in the second and the fourth place."""
    head, first, second, third, tail = (
        _known(word, known, name, is_noun=slot in (0, 4)) for slot, word in enumerate(wanted)
    )
    yield head, first, second, third, tail
    others = list(filter(known, [*_parts(name), *FILLERS]))
    for last in (third, *others):
        for other in others:
            yield head, other, second, last, tail


def _known(word: str, known: Callable[[str], bool], name: str, *, is_noun: bool) -> str:
    singular = word.removesuffix("ies") + "y" if word.endswith("ies") else word.removesuffix("s")
    instead = NOUNS if is_noun else FILLERS
    for candidate in (*((singular, word) if is_noun else (word, singular)), *instead):
        if known(candidate):
            return candidate
    raise ValueError(
        f"{name!r}: the vocabulary has neither {word!r} nor any of {', '.join(map(repr, instead))} as one "
        "token; write the words by hand."
    )


def relation_names(path: Path) -> list[str]:
    """Return the names in a JSON file: the keys of an object such as rel2id.json, or a list.

    Raises:
        FileNotFoundError: The file is not there.
        ValueError: It is not JSON, or holds something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"the file of relations {path} is not there.")
    try:
        names = list(parse_json(path.read_text(encoding="utf-8-sig")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a JSON object or list: {error}.") from error
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{path} must hold relation names: the keys of an object, or a list of texts.")
    return names


def main(argv: Sequence[str] | None = None) -> int:
    """Write a file of label words and return the exit status: 0, or 2 for input that cannot be used."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=main.__doc__, allow_abbrev=False)
    parser.add_argument(
        "--relations", required=True, help="JSON with the relation names: rel2id.json, or a list."
    )
    parser.add_argument(
        "--negative_relation", default="NA", help='The name that means "none of the relations".'
    )
    parser.add_argument(
        "--model_name_or_path", required=True, help="The encoder whose vocabulary must have the words."
    )
    parser.add_argument(
        "--output", required=True, help="The file to write; edit it before training, as it is only a start."
    )
    options = parser.parse_args(argv)
    try:
        names = relation_names(Path(options.relations))
        from .encoders.encoder_sources import load_tokenizer

        tokenizer = load_tokenizer(options.model_name_or_path)
        made = generated_words(
            names,
            negative_relation=options.negative_relation,
            known=lambda word: word_id(tokenizer, word) is not None,
        )
        target = Path(options.output)
        if target.exists():
            raise ValueError(f"{target} is there already; give another `--output`.")
        lines = [f"  {json.dumps(name)}: {json.dumps(list(own))}" for name, own in made.items()]
        write_text(target, "{\n" + ",\n".join(lines) + "\n}\n")
    except (ValueError, OSError) as error:
        print_error(str(error))
        return 2
    print(f"label words of {len(made)} relations: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
