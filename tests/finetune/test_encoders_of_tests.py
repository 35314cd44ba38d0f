"""The tokenizers that the tests make are the same in each process, and so is what is trained with them."""

import hashlib
import json

import pytest


@pytest.mark.parametrize(
    ("name", "digest"),
    [("bert", "51ac3b6c2c"), ("roberta", "b9e62252e8"), ("unigram", "91485b8a3c")],
)
def test_vocabularies_are_fixed(name: str, digest: str, request: pytest.FixtureRequest) -> None:
    vocabulary = request.getfixturevalue(f"{name}_tokenizer").get_vocab()
    found = hashlib.sha1(json.dumps(sorted(vocabulary.items())).encode(), usedforsecurity=False)
    assert found.hexdigest()[:10] == digest
