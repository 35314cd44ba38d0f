"""What tests of several parts share: one thread, examples that repeat, folders made once, a loopback Hub."""

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests.folders import ROOT
from tests.forked_commands import start_server
from tests.hub_server import HubServer

# Read when huggingface_hub is imported: the loopback Hub takes large files as LFS, not through Xet.
os.environ["HF_HUB_DISABLE_XET"] = "1"
# Read when torch and numpy are imported, here and in every process that a test starts. Models this small gain
# nothing from a second thread, and on a busy machine they wait for it.
os.environ["OMP_NUM_THREADS"] = "1"

# The caches of Hugging Face, read at import too: each worker has its own, and no run sees one of before.
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="nyt-h-tests-")
atexit.register(shutil.rmtree, os.environ["HF_HOME"], ignore_errors=True)

# A shell that starts tests in the background lets them, and the processes that they start, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

with contextlib.suppress(ImportError):  # the tests that the second venv runs need no hypothesis
    from hypothesis import settings

    # The same examples in each run; and no time limit, which a busy machine would fail.
    settings.register_profile("repeatable", deadline=None, derandomize=True)
    settings.load_profile("repeatable")

# What trains, browses, or starts processes for seconds: `make test-quick` leaves these files out.
SLOW = {
    "dataset": "card/export cache_faults dataset_benchmark loading sample/full_size sources",
    "finetune": "demo predict push experiments/comparison experiments/comparison_figures"
    " experiments/experiments model/bag_memory model/modeling model/prompt model/relation_pipeline"
    " model/representations model/type_restricted_models model/word_models encoders/trained_source"
    " experiments/ranking_changes report/report_tables report/run_report training/bag_runs"
    " training/going_on training/kernel_caches training/output_folder training/processes training/prompt_runs"
    " training/training training/training_loss training/trajectory training/type_restricted_runs"
    " training/word_runs",
    "hub": "dataset_push evaluate_world metric_push",
    "metric": "evaluate_module merged_counts significance/resampling",
    "space": "accessibility board_ranks html_report leaderboard_browser login metric_browser request_limit"
    " score_page staging",
}
SLOW_FILES = {
    (ROOT / "tests" / part / name).with_name(f"test_{Path(name).name}.py")
    for part, names in SLOW.items()
    for name in names.split()
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the slow files unread: some import libraries for seconds."""
    return True if "not slow" in config.option.markexpr and collection_path in SLOW_FILES else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    gone = sorted(str(path) for path in SLOW_FILES if not path.is_file())
    if gone:
        raise pytest.UsageError(f"tests/conftest.py names slow files that are not there: {', '.join(gone)}")
    for item in items:
        if item.path in SLOW_FILES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """A name and what writes a folder of that name -> the folder, written once for all workers.

    Tests read it; one that changes it works on a copy.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # that of all workers

    def folder(name: str, make: Callable[[Path], object]) -> Path:
        place, finished = root / "made-once" / name, root / "made-once" / f"{name}.finished"
        place.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{place}.lock"):
            if not finished.exists():
                make(place)
                finished.touch()
        return place

    return folder


@pytest.fixture(scope="session")
def forked_python(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A program that does what `python` does and imports no library again (see tests/forked_commands.py).

    One server for all workers; it ends with the process that started them.
    """
    owner = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()

    def start(folder: Path) -> None:
        folder.mkdir()
        start_server(folder, os.environ | {"HF_HUB_OFFLINE": "1"}, owner=owner)

    return made_once("forked", start) / "python"
