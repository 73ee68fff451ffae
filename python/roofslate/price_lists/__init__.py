"""Price lists read backwards: relations, verdicts, result."""
