"""Timetables as they are used: trains of requests, pipelines in inference and training."""

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
