"""Prints the scalars of a folder, as TensorBoard reads them: {tag: [[step, value], ...]}."""

import json
import sys

from tensorboard.backend.event_processing import event_accumulator

events = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
print(json.dumps({
    tag: [[event.step, event.value] for event in events.Scalars(tag)]
    for tag in events.Tags()["scalars"]
}))
