"""The product's workloads, for the other benchmarks: questions by name, and the file that `edit` is about."""

from paceline.bench.workloads import load

INVENTORY = load()["edit"].file
WORKLOADS = {name: workload.question for name, workload in load().items() if not workload.is_hole}
