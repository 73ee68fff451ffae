"""Timetables of passes and pipelines: departures, boarding, work of stages.

They are simulated request by request and box by box. The registry has the closed forms.
"""

from roofslate.simulation.pipelines import (
    PipelineSchedule,
    pipeline_inference,
    pipeline_training,
    stage_times,
    stage_use,
)
from roofslate.simulation.trains import Policy, left_behind, train, train_timetable

__all__ = [
    "PipelineSchedule",
    "Policy",
    "left_behind",
    "pipeline_inference",
    "pipeline_training",
    "stage_times",
    "stage_use",
    "train",
    "train_timetable",
]
