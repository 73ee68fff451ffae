"""Messages: the command that installs an extra."""

from roofslate._base.messages import pip_install


def test_pip_install_names_the_clone(tmp_path):
    """In a clone the package has no name on an index: its folder is installed."""
    package = tmp_path / "python" / "roofslate"
    package.mkdir(parents=True)
    assert pip_install("jupyter", str(package)) == "pip install 'roofslate[jupyter]'"
    (tmp_path / "pyproject.toml").touch()
    assert pip_install("jupyter", str(package)) == "pip install '.[jupyter]'"
