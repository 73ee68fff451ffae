"""Random questions to every public call, as lines of Python, and their answers as texts."""
