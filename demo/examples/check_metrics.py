"""Reads the example's metrics with Prometheus' own library for Python.

    check_metrics.py <example>"""
import subprocess
import sys

try:
    from prometheus_client.parser import text_string_to_metric_families
except ImportError:
    print("skipped: prometheus_client is missing")
    sys.exit(77)

text = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
families = {family.name: family for family in text_string_to_metric_families(text)}
samples = {sample.name: sample for family in families.values() for sample in family.samples}
finished = samples["lanepool_tasks_finished_total"]
assert finished.value == 3 and finished.labels == {"pool": "ledger"}, finished
assert families["lanepool_tasks_finished"].type == "counter", families
assert samples["lanepool_worker_tasks_total"].labels == {"pool": "ledger", "worker": "0"}, samples
assert all(family.type in ("counter", "gauge") and family.documentation for family in families.values())
print(f"{len(samples)} metrics")
