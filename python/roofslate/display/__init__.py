"""Text, HTML, formulas, and the house style of pictures."""
