"""What `import roofslate` loads, and what it leaves for later."""

import pytest

HEAVY = (
    "pandas",
    "xarray",
    "matplotlib",
    "scipy",
    "dask",
    "distributed",
    "pint",
    "pyarrow",
    "IPython",
    "ipywidgets",
    "click",
    "tqdm",
)


def loaded_by(run_python, code):
    return set(
        run_python(f"{code}\nimport sys\nprint(*sorted(name for name in sys.modules if '.' not in name))").split()
    )


def test_import_is_light(run_python):
    assert loaded_by(run_python, "import roofslate") & set(HEAVY) == set()


@pytest.mark.parametrize(
    "code",
    [
        "import roofslate as rs; rs.value('pass_tokens', batch_size=3)",
        "import roofslate as rs; rs.value('hbm_drain_time', hbm_capacity='192 GB', hbm_bandwidth='8 TB/s')",
        "import roofslate as rs; rs.value('sparsity', model='DeepSeek-V3')",
        "import roofslate as rs; rs.quantity('pass_time'); rs.hardware['B200']; dir(rs)",
        "import roofslate.units, roofslate.errors, roofslate.presets.catalog",
    ],
)
def test_a_single_value_is_light_too(run_python, code):
    assert loaded_by(run_python, code) & set(HEAVY) == set()


def test_every_public_name_is_there(run_python):
    code = """
import roofslate as rs
missing = [name for name in rs.__all__ if not hasattr(rs, name)]
assert not missing, missing
assert set(rs.__all__) <= set(dir(rs))
assert sorted(rs.__all__) == list(rs.__all__)
"""
    run_python(code)


def test_an_unknown_attribute_is_an_attribute_error(run_python):
    code = """
import roofslate as rs
try:
    rs.evaluat
except AttributeError as error:
    print(error)
"""
    assert run_python(code) == "module 'roofslate' has no attribute 'evaluat'"


def test_the_environment_chooses_the_instruction_set(run_python, instruction_sets):
    code = "from roofslate import _core; print(_core.instruction_set())"
    for name in instruction_sets:
        assert run_python(code, ROOFSLATE_SIMD=name) == name
    wrong = """
import roofslate as rs
try:
    rs.evaluate("pass_tokens", batch_size=[1, 2])
except rs.RoofslateError as error:
    print(error)
"""
    assert "ROOFSLATE_SIMD='sse9' names no instruction set" in run_python(wrong, ROOFSLATE_SIMD="sse9")


def test_the_environment_chooses_the_threads(run_python):
    code = """
import roofslate as rs
try:
    print(rs.evaluate("pass_tokens", batch_size=[1, 2]).to_numpy().tolist())
except rs.RoofslateError as error:
    print(error)
"""
    assert run_python(code, ROOFSLATE_THREADS="2") == "[1.0, 2.0]"
    assert run_python(code, ROOFSLATE_THREADS="") == "[1.0, 2.0]"
    for wrong in ("0", "two", "-3", "1.5"):
        assert (
            run_python(code, ROOFSLATE_THREADS=wrong)
            == f"ROOFSLATE_THREADS must be a whole number of at least 1, got {wrong!r}"
        )
