"""Scenarios to sweep, and files of them: written, and read as they are."""

import csv

import numpy as np
import pandas as pd

MODELS = ["DeepSeek-V3", "lecture", "gpt-oss-120b", "kimi k2"]
HARDWARE = ["GB200 NVL72", "GB300 NVL72", "BW72 (lecture)"]


def scenarios(rows):
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "id": [f"{k:06d}" for k in range(rows)],
            "batch_size": np.round(1 + 1000 * rng.random(rows)),
            "context_length": rng.choice(["8k", "128k", "1500", "0.5k token"], rows),
            "chip_price": 1e-3 * rng.random(rows),
            "model": rng.choice(MODELS, rows),
            "hardware": rng.choice(HARDWARE, rows),
            "overlap": rng.choice(["board", "none", "serial_kv"], rows),
        }
    )


def written(table, path):
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
    return path


def read(path):
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    with path.open(newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    return pd.DataFrame(rows, columns=head)


def doubles(column):
    """Return a column of a result as numbers, each text read as the double that it was."""
    return np.array([np.nan if x is None or x == "" else float(x) for x in column])


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())
