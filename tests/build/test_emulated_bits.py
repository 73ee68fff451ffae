"""The NEON kernels, emulated, have the bits of this machine's kernels."""

import emulated_bits
import pytest
from support import ROOT


@pytest.mark.long
@pytest.mark.whole
def test_neon_has_the_same_bits(capsys):
    if lacking := emulated_bits.missing():
        pytest.skip(f"{', '.join(lacking)} is not installed (Debian: g++-aarch64-linux-gnu, qemu-user)")
    folder = ROOT / "build" / "bits"
    native = emulated_bits.built(folder / "native", [])
    emulated = emulated_bits.built(folder / "arm64", emulated_bits.cross_options())
    assert emulated_bits.compare(native, emulated, 2000) == 0, capsys.readouterr().out
