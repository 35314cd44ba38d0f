#!/usr/bin/env bash
# Training and prediction on a GPU, under five minutes: `bash benchmarks/device.sh`. Without one it runs in small on the
# processor, which shows that it runs and nothing else. More arguments go to `python -m benchmarks.device`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
[ -x "$python" ] || python=python3
if "$python" -c "import sys, torch; sys.exit(not torch.cuda.is_available())"; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader || true
  exec "$python" -m benchmarks.device "$@"
fi
exec "$python" -m benchmarks.device --small "$@"
