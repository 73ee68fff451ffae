"""Shared parts of tests of definitions: a scope for each, and the error of a refused one."""

import pytest
import roofslate as rs
from roofslate import errors
from roofslate.registry.registry import entries


def scope():
    """Definitions of a test end with it."""
    with rs.definitions():
        yield


def refused(*arguments, **keywords):
    """The error of a definition that is not made."""
    before = entries()
    with pytest.raises(errors.RoofslateError) as caught:
        rs.define(*arguments, **{"brief": "none", **keywords})
    assert entries() is before
    return caught.value
