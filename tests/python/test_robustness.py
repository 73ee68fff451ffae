"""Crashes, Ctrl-C, threads, forks, and old processors."""

import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import roofslate as rs
from roofslate import _core
from roofslate._base import progress

INTEL = platform.machine() in ("x86_64", "AMD64")

# ------------------------------------------------------------------------------------------------------------ hostile

HOSTILE = '''
import numpy as np, pandas as pd, xarray as xr, roofslate as rs, warnings, gc

warnings.simplefilter("ignore")


class Raises:
    """Whatever is asked of it goes wrong."""

    def __float__(self):
        raise RuntimeError("float")

    def __array__(self, *a, **k):
        raise RuntimeError("array")

    def __len__(self):
        return -1

    def __iter__(self):
        raise RuntimeError("iter")

    def __hash__(self):
        raise RuntimeError("hash")

    def __eq__(self, other):
        raise RuntimeError("eq")


class Number(float):
    def __float__(self):
        return "no float"


class Text(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 7


class Whole(int):
    def __index__(self):
        return "x"


class Lies(list):
    def __len__(self):
        return 10**9


class Shrinks:
    """Gives an array, and changes its mind."""

    def __init__(self):
        self.calls = 0

    def __array__(self, dtype=None, copy=None):
        self.calls += 1
        return np.ones(max(0, 5 - 2 * self.calls))


endless = [1.0]
endless.append(endless)
deep = 1.0
for _ in range(100_000):
    deep = [deep]
overlapping = np.lib.stride_tricks.as_strided(np.ones(3), (1000, 1000), (0, 0))
values = [
    Raises(),
    [Raises()],
    Number(3),
    Text("64"),
    Whole(5),
    Lies([1, 2]),
    Shrinks(),
    endless,
    deep,
    overlapping,
    "\\0",
    "\\ud800",
    "64\\0",
    "9" * 10_000,
    "1" + "/s" * 5000,
    "(" * 5000,
    "1 " + "(" * 5000 + "s" + ")" * 5000,
    "1 s^" + "9" * 1000,
    b"\\xff" * 10,
    [b"\\xff"],
    float("nan"),
    [float("nan")] * 100,
    np.float128(64) if hasattr(np, "float128") else 64,
    np.array([64], dtype=np.longdouble),
    np.array(["64"], dtype=object),
    np.array([[]]),
    np.zeros((0, 3)),
    np.zeros((1,) * 32),
    np.array([1, 2, 3], dtype=np.uint64)[::-1],
    np.array(3, dtype=object),
    np.recarray((2,), dtype=[("x", float)]),
    np.matrix([[1, 2]]),
    np.array([1e308, 1e-308, 5e-324]),
    -0.0,
    5e-324,
    1.7976931348623157e308,
    2**1023,
    -(2**1024),
    range(10**18),
    range(-5, 5),
    slice(3),
    type,
    Exception,
    ...,
    NotImplemented,
    pd.Series([1, 2], index=[float("nan")] * 2),
    pd.Series([1, 2], index=pd.Index([(1, 2), (3, 4)], tupleize_cols=False)),
    pd.Series([1, 2], index=pd.Index([1, 1], name=3)),
    pd.Series([[1], [2]]),
    pd.Series(dtype=object),
    pd.DataFrame(),
    pd.Index([]),
    pd.Categorical([1, 2]),
    pd.arrays.SparseArray([1.0, 0.0]),
    pd.interval_range(0, 2),
    xr.DataArray(3.0, dims=()),
    xr.DataArray([1.0], dims="batch_size"),
    xr.DataArray(np.ones((2, 2)), dims=("a", "b")).T,
    xr.DataArray([1.0, 2.0], dims="x", coords={"x": [float("nan")] * 2}),
    xr.DataArray(["a", "b"], dims="x"),
    xr.DataArray([None, 1], dims="x"),
    xr.DataArray([1, 2], dims="x", attrs={"units": "\\0"}),
    xr.DataArray([1, 2], dims="x", attrs={"units": Raises()}),
    xr.DataArray([1, 2], dims="x", attrs={"flag_meanings": 3}),
    xr.Variable("x", [1.0, 2.0]),
    memoryview(np.ones(3)),
    bytearray(8),
    {"a": endless},
    lambda: None,
    iter(()),
    np.nditer(np.ones(3)),
    np.ones(3).flat,
    np.ufunc,
    np.errstate(),
]
names = [
    "batch_size",
    "overlap",
    "model",
    "hardware",
    "experts",
    "experts_per_token",
    "pass_time",
    "\\ud800",
    "",
    "\\0",
    "batch_size\\0",
    "__class__",
]
strange = set()


def tried(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except (rs.RoofslateError, RuntimeError, RecursionError):
        pass  # what the object itself raises is its own affair
    except TypeError as error:
        if "returned non-float" not in str(error):
            strange.add(f"{call.__name__} {type(value).__name__}: {str(error)[:100]!a}")
    except Exception as error:
        what = type(value).__name__ if value is not deep else "deep"
        strange.add(
            f"{call.__name__} {what} as {', '.join(k[:20] for k in kwargs)!a}: "
            f"{type(error).__name__}: {str(error)[:100]!a}"
        )


for value in values:
    for name in names:
        tried(rs.value, "pass_tokens", **{"batch_size": 1, **{name: value}})
        tried(rs.evaluate, ["pass_tokens", "overlap"], **{"batch_size": [1, 2], **{name: value}})
    try:
        column = pd.DataFrame({"batch_size": pd.Series([value, 1.0], dtype=object)})
    except Exception:
        continue
    tried(rs.frame, column, "pass_tokens")
    tried(rs.evaluate, value, batch_size=1)
    tried(rs.value, value, batch_size=1)
    tried(rs.quantity, value)
    for keyword in ("out", "dtype", "threads", "units"):
        tried(rs.evaluate, "pass_tokens", batch_size=[1, 2], **{keyword: value})
tried(rs.value, "pass_tokens", **{"x" * 10_000: 1})
gc.collect()
assert rs.value("pass_tokens", batch_size=3) == 3
print("alive", *sorted(strange), sep="\\n")
'''


def test_hostile_input_ends_in_an_error_of_the_package(run_python):
    done = run_python(HOSTILE, check=False, timeout=300)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    alive, *strange = done.stdout.strip().splitlines()
    assert alive == "alive"
    assert strange == []


def test_inputs_that_change_while_they_are_read():
    """The result is of some moment if another thread changes values of an array.

    It never changes the memory of an array.
    """
    batch = np.linspace(1, 2, 300_000)
    stop = threading.Event()

    def stir():
        while not stop.is_set():
            batch[:] = batch[::-1].copy()

    stirring = threading.Thread(target=stir)
    stirring.start()
    try:
        for _ in range(20):
            result = rs.evaluate("pass_tokens", batch_size=batch, pass_length=2).to_numpy()
            assert ((result >= 2) & (result <= 4)).all()
    finally:
        stop.set()
        stirring.join()


# ----------------------------------------------------------------------------------------------------- threads, forks


def test_calls_from_many_threads(decode, bits):
    batch, context = np.linspace(1, 4000, 400), np.linspace(1, 1e5, 500)
    question = {**decode, "batch_size": batch, "context_length": context}
    expected = bits(rs.evaluate("cost_per_token", question))
    wrong = []

    def ask():
        answers = [bits(rs.evaluate("cost_per_token", question, threads=2)) for _ in range(5)]
        wrong.extend(threading.get_ident() for answer in answers if not np.array_equal(answer, expected))

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_many_more_threads_than_there_is_work(decode, bits):
    question = {**decode, "batch_size": np.linspace(1, 4000, 700), "context_length": np.linspace(1, 1e5, 800)}
    assert np.array_equal(
        bits(rs.evaluate("pass_time", question, threads=500)), bits(rs.evaluate("pass_time", question, threads=1))
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # jax, if another test loaded it
def test_after_a_fork(decode):
    question = {**decode, "batch_size": np.linspace(1, 4000, 700), "context_length": np.linspace(1, 1e5, 800)}
    expected = float(rs.evaluate("pass_time", question, threads=2).sum())
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_sum_of_times, [question] * 4) == [expected] * 4


def _sum_of_times(question):
    return float(rs.evaluate("pass_time", question, threads=2).sum())


DAEMON = """
import threading, time, numpy as np, roofslate as rs

batch_slots, load = np.linspace(1, 300, 500), np.linspace(0.1, 0.9, 500)
asked = threading.Event()


def work():
    while True:
        rs.evaluate(
            "mean_queue_wait",
            threads=2,
            progress={progress},
            batch_slots=batch_slots,
            slot_utilization=load,
            output_tokens=100,
            batch_interval=0.02,
        )
        asked.set()


threading.Thread(target=work, daemon=True).start()
asked.wait()
time.sleep(0.1)
"""


@pytest.mark.parametrize("progress", ["False", "lambda *_: None", "lambda *_: sum(range(100_000))"])
def test_the_interpreter_ends_while_a_daemon_thread_computes(run_python, progress):
    """Python ends such a thread at its request for the GIL, through frames that others use."""
    run_python(DAEMON.format(progress=progress))


# ---------------------------------------------------------------------------------------------------- stop, progress

INTERRUPT = """
import signal, time, numpy as np, roofslate as rs


def interrupt(number, frame):
    global sent
    sent = time.monotonic()
    raise KeyboardInterrupt


decode = dict(
    total_parameters=671e9,
    active_parameters=37e9,
    bytes_per_weight=0.5,
    kv_bytes_per_token=1667.0,
    peak_flops=9e15,
    hbm_bandwidth=8e12,
    chip_price=1e-3,
    chips=72.0,
    batch_size=100.0,
    context_length=1e4,
)
rs.evaluate("pass_time", {**decode, "batch_size": [1, 2]})
signal.signal(signal.SIGALRM, interrupt)
for case in range(3):
    if case == 0:  # a routine, point by point
        output, question = (
            "mean_queue_wait",
            dict(
                batch_slots=np.linspace(1, 300, 4000),
                slot_utilization=np.linspace(0.1, 0.9, 4000),
                output_tokens=100.0,
                batch_interval=0.02,
            ),
        )
    elif case == 1:  # powers
        output, question = (
            "fetched_weight_bytes",
            dict(
                experts=256.0,
                experts_per_token=np.linspace(1, 256, 9000),
                batch_size=np.linspace(1, 4000, 9000),
                dense_parameters=1e9,
                total_parameters=2e9,
                active_parameters=1e9,
                bytes_per_weight=1.0,
            ),
        )
    else:  # stores alone, into memory of the caller
        output, question = (
            "cost_per_token",
            {**decode, "batch_size": np.linspace(1, 4000, 9000), "context_length": np.linspace(1, 1e5, 9000)},
        )
    signal.setitimer(signal.ITIMER_REAL, 0.25 if case < 2 else 0.05)
    try:
        rs.evaluate(output, question)
        print(case, "was not interrupted")
    except KeyboardInterrupt:
        print(case, time.monotonic() - sent)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert rs.evaluate("pass_tokens", batch_size=[1, 2]).to_numpy().tolist() == [1, 2]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no timer signals")
@pytest.mark.flaky(reruns=2)  # a busy machine may end the call before the signal
@pytest.mark.measured
def test_ctrl_c_stops_a_long_call(run_python):
    lines = run_python(INTERRUPT).splitlines()
    assert [line.split()[0] for line in lines] == ["0", "1", "2"]
    for line in lines:
        assert "not" not in line
        assert float(line.split()[1]) < 0.2


def test_progress_is_told_and_may_stop():
    question = {
        "batch_slots": np.linspace(1, 300, 500),
        "slot_utilization": np.linspace(0.1, 0.9, 500),
        "output_tokens": 100,
        "batch_interval": 0.02,
    }
    reports = []
    rs.evaluate("mean_queue_wait", question, progress=lambda done, total: reports.append((done, total)))
    assert len(reports) >= 2
    assert all(0 <= done <= total for done, total in reports)
    assert sorted(reports) == reports
    assert len({total for _, total in reports}) == 1

    def stop(*_):
        raise ZeroDivisionError("stop here")

    with pytest.raises(ZeroDivisionError, match="stop here"):
        rs.evaluate("mean_queue_wait", question, progress=stop)
    assert rs.value("pass_tokens", batch_size=3) == 3


def test_a_bar_appears_after_a_second_with_what_is_done(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress.Progress(True, "row") as bar:
        assert bar.callback is not None
        bar.callback(10, 100)
        assert capsys.readouterr().err == ""
        now[0] = 1.1
        bar.callback(25, 100)
        assert re.search(r" 25%\|.*\| 25\.0/100 .*row/s", capsys.readouterr().err)
    assert re.fullmatch(r"\r +\r", capsys.readouterr().err)  # it is gone in the end
    assert progress.Progress(False).callback is None


@pytest.mark.parametrize(("requested", "count"), [(True, r"/6\.00 .*point/s"), (None, None), (False, None)])
def test_a_bar_is_shown_where_somebody_looks_on_or_asks_for_it(requested, count, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_DELAY", 0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # of another test: nobody looks on here
    rs.evaluate("pass_tokens", batch_size=[1, 2, 3], pass_length=[1, 2], progress=requested)
    written = capsys.readouterr().err
    assert re.search(count, written) if count else written == ""
    (tmp_path / "in.csv").write_text("batch_size\n1\n2\n")
    rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv", progress=requested)
    written = capsys.readouterr().err
    assert "row/s" in written if count else written == ""


def test_no_floating_point_flag_is_left_behind(decode):
    """Branches that were not chosen raise no flag for a division by zero or an overflow."""
    with np.errstate(all="raise"):
        result = rs.evaluate("balance_batch_at_context", {**decode, "context_length": [1.0, 1e6, 1e9]})
        assert np.isinf(result[2])
        assert np.isfinite(np.float64(1.0) + np.arange(5.0)).all()


# -------------------------------------------------------------------------------------------------------- processors


OLD = """
import sys
sys.path[:0] = {path!r}
import numpy as np
import roofslate

roofslate.__path__.append({core!r})  # in an editable install the extension lies elsewhere
from roofslate import _core
from roofslate.grid.run import run
from roofslate.grid.read import read_grid

k = np.arange(1.0, 300)
question = dict(experts=256.0, experts_per_token=8.0, total_parameters=671e9, dense_parameters=17e9)
question |= dict(expert_reads="expected", output_tokens=700.0, bytes_per_weight=0.5, chips=72.0)
question |= dict(batch_interval=0.02, hbm_bandwidth=8e12, active_parameters=1e9 * k)
question |= dict(batch_size=1 + k * k / 17, batch_slots=1 + k[:40] / 7, slot_utilization=1 - 1 / (k[:30] + 1))
outputs = ["weight_fetch_time", "fetched_weight_bytes", "mean_queue_wait", "routed_loss"]
found, _ = run(read_grid(question), outputs, threads=1)
digest = hash(b"".join(np.ascontiguousarray(array).tobytes() for array, *_ in found))
print(_core.instruction_set(), digest)
"""


@pytest.mark.measured
@pytest.mark.skipif(not INTEL, reason="qemu emulates only other processors of this kind")
@pytest.mark.parametrize(
    ("processor", "expected"),
    [("Nehalem", "base"), ("SandyBridge", "base"), ("Haswell,-xsave", "base"), ("Haswell", "avx2")],
)
def test_older_processors_give_the_same_bits(processor, expected):
    qemu = shutil.which("qemu-x86_64") or pytest.skip("qemu-user is not installed")
    code = OLD.format(
        path=[
            str(Path(rs.__file__).parents[1]),
            str(Path(_core.__file__).parents[1]),
            sysconfig.get_path("platlib"),
            sysconfig.get_path("purelib"),
            *filter(None, sys.path),
        ],
        core=str(Path(_core.__file__).parent),
    )
    # NumPy's OpenBLAS chooses its kernels by the model of the processor, and would take those that qemu refuses to run.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_CORETYPE": "Nehalem"}
    native = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    ).stdout.split()
    python = os.path.realpath(sys.executable)
    emulated = subprocess.run(
        [qemu, "-cpu", processor, python, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert emulated.returncode == 0, emulated.stderr[-2000:]
    assert emulated.stdout.split() == [expected, native[1]]
