#!/bin/sh
# run.sh PATHTRACE FOLDER [WHEEL]: play the story in a new folder. WHEEL: release 0.5.9, fetched with pip if not given.
set -eu
pathtrace=$(command -v "$1")
here=$(cd "$(dirname "$0")" && pwd)
folder=$2
wheel=${3-}

mkdir -p "$folder/vendor"
cd "$folder"
if [ -z "$wheel" ]; then
    python3 -m pip download --quiet --no-deps --dest . sglang==0.5.9
    wheel=$(echo sglang-0.5.9-*.whl)
fi
python3 -m zipfile -e "$wheel" vendor
cp "$here/pyproject.toml" .
cp -R "$here/../../tests/conformance/models" models
git init --quiet .
git add pyproject.toml models vendor/sglang
git -c user.name=example -c user.email=example@example.org commit --quiet --message "Vendor SGLang 0.5.9"

# The change: line 706 stands in EAGLEWorkerV2.verify.
file=vendor/sglang/srt/speculative/eagle_worker_v2.py
sed '706s/$/  # no speculation above a batch size/' "$file" > changed.py && mv changed.py "$file"
git add "$file"

echo "== the deployment as it is"
"$pathtrace" check --staged && exit 3
echo "== with SGLANG_ENABLE_SPEC_V2=1"
sed 's/^# env/env/' pyproject.toml > changed.toml && mv changed.toml pyproject.toml
"$pathtrace" check --staged
