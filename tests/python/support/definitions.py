"""What tests of definitions share: a scope for each test, and the error of a definition that is not made."""

import pytest
import roofslate as rs
from roofslate import errors
from roofslate.registry.registry import entries


def scope():
    """What a test defines is gone after it."""
    with rs.definitions():
        yield


def refused(*arguments, **keywords):
    """The error of a definition that is not made."""
    before = entries()
    with pytest.raises(errors.RoofslateError) as caught:
        rs.define(*arguments, **{"brief": "none", **keywords})
    assert entries() is before
    return caught.value
