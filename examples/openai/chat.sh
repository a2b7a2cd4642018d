#!/bin/sh
# Asks an agent of `npx loom serve` with curl, as any client of OpenAI's Chat Completions API would: first for a whole
# answer, then for a stream.
#
#   npx loom serve
#   sh examples/openai/chat.sh [URL]
set -eu
URL="${1:-http://127.0.0.1:10338}/openai/v1"

curl -sS "$URL/models"
echo
curl -sS "$URL/chat/completions" -H "content-type: application/json" -d '{
  "model": "react",
  "messages": [{ "role": "user", "content": "What is 17*23?" }]
}'
echo
curl -sSN "$URL/chat/completions" -H "content-type: application/json" -d '{
  "model": "react",
  "stream": true,
  "messages": [{ "role": "user", "content": "Tell me a joke" }]
}'
