"""The official Python SDK's part of the codec benchmark: one round of numbers for each line on stdin."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import acp.schema
from acp.utils import serialize_params

from benchmarks.messages import SAMPLES, Sample
from benchmarks.stopwatch import microseconds


def operations(sample: Sample) -> dict[str, Callable[[], object]]:
    """What the SDK's connection does with each message, without the connection."""
    model = getattr(acp.schema, sample.kind)
    text = json.dumps(sample.envelope, separators=(",", ":")).encode()
    value = model.model_validate(sample.envelope[sample.part])
    frame = {key: part for key, part in sample.envelope.items() if key != sample.part}

    def decode() -> Any:
        return model.model_validate(json.loads(text)[sample.part])

    def encode() -> bytes:
        return json.dumps({**frame, sample.part: serialize_params(value)}, separators=(",", ":")).encode()

    return {"decode": decode, "encode": encode}


def main() -> None:
    all_operations = {name: operations(sample) for name, sample in SAMPLES.items()}
    for _ in sys.stdin:
        numbers = {
            name: {verb: microseconds(operation) for verb, operation in each.items()}
            for name, each in all_operations.items()
        }
        print(json.dumps(numbers), flush=True)


main()
