"""Prompts for agents, each in a copy of a folder of its own, and their results: the engine of `accord.evaluate`.

`accord run --compare` works on the same copies.
"""

from accord.evaluation.evaluate import (
    AgentCommand,
    EvaluationResult,
    ProgressBar,
    ResultsFileError,
    Task,
    TaskLimits,
    evaluate,
    read_results,
)

__all__ = [
    "AgentCommand",
    "EvaluationResult",
    "ProgressBar",
    "ResultsFileError",
    "Task",
    "TaskLimits",
    "evaluate",
    "read_results",
]
