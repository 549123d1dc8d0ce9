"""Commented examples of every kind of source, target and webhook, for `trimtab init`.

They name the knobs and metrics of the example spec (`trimtab.live.spec.spec.example`).
"""

from __future__ import annotations

_TIMES = """window = "5m"                       # a round: metrics are measured over five minutes
delay = "30s"                       # how long after a window its metrics are complete
patience = "5m"                     # for how long they may be late before a new window begins
max_age = "2m"                      # an older newest sample is stale, and makes it wait
"""

SOURCES = {
    "prometheus": f"""[source]
kind = "prometheus"
url = "http://localhost:9090"
{_TIMES}heartbeat = 'up{{job="search"}}'      # without a young sample of this nothing counts
# headers = {{ Authorization = "Bearer ${{PROMETHEUS_TOKEN}}" }}

[source.metrics]                    # PromQL, one series each; $window is the length of the window
latency_p99 = 'histogram_quantile(0.99, sum by (le) (rate(search_seconds_bucket[$window]))) * 1000'
click_rate = '100 * sum(rate(clicks_total[$window])) / sum(rate(searches_total[$window]))'
stale_results = '100 * sum(rate(stale_total[$window])) / sum(rate(searches_total[$window]))'
error_rate = '100 * sum(rate(errors_total[$window])) / sum(rate(searches_total[$window]))'
""",
    "http": f"""[source]
kind = "http"
url = "http://localhost:8080/metrics.json?from={{begin}}&to={{end}}"  # seconds since 1970
{_TIMES}time = "measured_at"                # where its time stands: seconds since 1970 or ISO 8601

[source.metrics]                    # where each stands in the answer
latency_p99 = "latency.p99"
click_rate = "clicks.rate"
stale_results = "stale.percent"
error_rate = "errors.percent"
""",
    "command": f"""[source]
kind = "command"
command = ["/usr/local/bin/measure", "--json"]  # prints {{"latency_p99": 180, ...}}; no shell
{_TIMES}""",
    "sql": f"""[source]
kind = "sql"
url = "postgresql://reader:${{METRICS_PASSWORD}}@localhost/metrics"  # or sqlite:///path
{_TIMES}time = "newest"                     # the column with the time of the newest row
query = \"\"\"
SELECT percentile_cont(0.99) WITHIN GROUP (ORDER BY latency_ms) AS latency_p99,
       100.0 * avg(clicked::int) AS click_rate,
       100.0 * avg(stale::int) AS stale_results,
       100.0 * avg(failed::int) AS error_rate,
       extract(epoch FROM max(at)) AS newest
FROM searches WHERE at > to_timestamp(:begin) AND at <= to_timestamp(:end)
\"\"\"
""",
}

TARGETS = {
    "command": """[target]
kind = "command"
command = ["/usr/local/bin/set-knobs"]   # gets {"values": {"cache_ttl": 300.0, ...}, ...} on stdin
read = ["/usr/local/bin/get-knobs"]      # prints {"cache_ttl": 300.0, ...}; may be left out
""",
    "http": """[target]
kind = "http"
url = "http://localhost:8080/knobs"
method = "PUT"
read_url = "http://localhost:8080/knobs" # answers with the values that hold now; may be left out
secret = "${KNOBS_SECRET}"               # signs the body; see docs/run.md
attempts = 4
""",
    "file": """[target]
kind = "file"
path = "/etc/search/knobs.json"     # replaced as a whole
format = "json"                     # or yaml, or env: lines of NAME=value
signal = "HUP"                      # sent after a change ...
pid_file = "/run/search.pid"        # ... to this process
# names = { cache_ttl = "CACHE_TTL" }   # what a knob is called there
""",
    "redis": """[target]
kind = "redis"
url = "redis://:${REDIS_PASSWORD}@localhost:6379/0"
prefix = "search:"                  # keys search:cache_ttl, ...; or hash = "search" for one hash
""",
}

WEBHOOK = """[[webhook]]
url = "https://hooks.example.org/trimtab"
secret = "${WEBHOOK_SECRET}"        # signs the body
events = ["alarm", "breach", "rollback", "pause", "stuck", "proposal"]
"""

RULE = "# ---- {} {}\n\n"


def connections(source: str | None, target: str | None, *, webhook: bool) -> str:
    """The tables for `trimtab run` that an example spec goes on with; nothing if all are None."""
    parts = []
    if source is not None:
        title = "Source: where `trimtab run` gets metrics from."
        parts.append(RULE.format(title, "-" * (89 - len(title))) + SOURCES[source])
    if target is not None:
        title = "Target: where it sets values. Secrets stay in the environment: ${NAME}."
        parts.append(RULE.format(title, "-" * (89 - len(title))) + TARGETS[target])
    if webhook:
        title = "Webhook: who is told when something happens."
        parts.append(RULE.format(title, "-" * (89 - len(title))) + WEBHOOK)
    return "".join(f"\n{part}" for part in parts)
