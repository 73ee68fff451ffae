"""The lecture: charts, chapters, answers, claims, flashcards, report."""
