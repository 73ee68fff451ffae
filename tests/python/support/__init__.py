"""Helpers that tests of several packages share."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REFERENCE = ROOT / "tests" / "reference"
# so that an assertion that fails in a helper shows its values too
pytest.register_assert_rewrite(*(f"{__name__}.{path.stem}" for path in Path(__file__).parent.glob("[a-z]*.py")))
