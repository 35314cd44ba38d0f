"""Files of the example, as a visitor would upload them."""

import pytest

from weighted_f1_metric.space.example_files import write_example


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    return write_example(tmp_path_factory.mktemp("example"))
