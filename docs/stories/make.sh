#!/usr/bin/env bash
# Writes the files of docs/explanation/stories.md anew. From the repository's root, after
#   python benchmarks/predicted_runs.py --groups shared && python benchmarks/simulated.py --groups three
set -euo pipefail
PATH="$PWD/.venv/bin:$PATH"
to=docs/stories shared=runs/predicted/shared three=runs/simulated/three
today=(--types 'aws/m7*' --types 'aws/c7*' --types 'aws/i4i*')

# A plan that is not found, or an objective that is missed, is an answer, too (1); what a run does not show (4) is none here.
answer() { hydrotest "$@" || [ $? -eq 1 ]; }
# As a file that is replaced only by a whole one.
printed() { local file=$1; shift; answer "$@" --json > "$file.new" && mv "$file.new" "$file"; }

answer predict "$shared" --together ingest,store --save "$to/shared-prediction.json"
for day in shared split; do
  printed "$to/$day-day.json" simulate "$to/$day-day.yaml"
done
answer size "$shared" --need ingest=60K,store=750 --survive none --top 3 --save "$to/shared-size.json"
answer size "$shared" --need ingest=60K,store=750 --survive none --shared never --top 3 --save "$to/split-size.json"

answer size "$three" --need ingest=1M --retain 1d --far --survive none "${today[@]}" --top 3 --save "$to/kafka-1m.json"
printed "$to/kafka-month.json" simulate "$to/kafka-month.yaml" --seeds 5

printed "$to/five-machines-published.json" cost --published packet-2016
answer size "$three" --need ingest=1292958 --far --survive none --top 3 --save "$to/five-machines-kafka.json"
answer size "$shared" --need store=26195 --far --survive none --top 3 --save "$to/five-machines-cassandra.json"
