#include "stacking/api/openapi.hpp"

namespace stacking::api {

const std::string_view kOpenApi = R"json({
"openapi": "3.1.0",
"info": {
 "title": "swarm api", "version": "1",
 "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
 "description":
  "A null counts as left out; unknown fields are ignored. GET /events streams the state."
},
"security": [{}, {"key": []}],
"paths": {
 "/v1/chat/completions": {"post": {
  "operationId": "createChatCompletion", "summary": "Answers a chat",
  "requestBody": {"required": true, "content": {"application/json": {
   "schema": {"$ref": "#/components/schemas/ChatRequest"}}}},
  "responses": {
   "200":
    {"description": "The answer; with `stream` its pieces as chat.completion.chunk, then [DONE]",
    "content": {
     "application/json": {"schema": {"$ref": "#/components/schemas/ChatAnswer"}},
     "text/event-stream": {}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"},
   "408": {"$ref": "#/components/responses/Error"}, "413": {"$ref": "#/components/responses/Error"},
   "415": {"$ref": "#/components/responses/Error"}, "417": {"$ref": "#/components/responses/Error"},
   "429": {"$ref": "#/components/responses/Error"}, "431": {"$ref": "#/components/responses/Error"},
   "503": {"$ref": "#/components/responses/Error"}}}},
 "/v1/completions": {"post": {
  "operationId": "createCompletion", "summary": "Continues texts",
  "requestBody": {"required": true, "content": {"application/json": {
   "schema": {"$ref": "#/components/schemas/TextRequest"}}}},
  "responses": {
   "200": {"description": "The answers; with `stream` their pieces in the same shape, then [DONE]",
    "content": {
     "application/json": {"schema": {"$ref": "#/components/schemas/TextAnswer"}},
     "text/event-stream": {}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"},
   "408": {"$ref": "#/components/responses/Error"}, "413": {"$ref": "#/components/responses/Error"},
   "415": {"$ref": "#/components/responses/Error"}, "417": {"$ref": "#/components/responses/Error"},
   "429": {"$ref": "#/components/responses/Error"}, "431": {"$ref": "#/components/responses/Error"},
   "503": {"$ref": "#/components/responses/Error"}}}},
 "/tokenize": {"post": {
  "operationId": "tokenize",
   "summary": "Returns the tokens of a text, or of a chat with the beginning of an answer",
  "requestBody": {"required": true, "content": {"application/json": {
   "schema": {"$ref": "#/components/schemas/TokenizeRequest"}}}},
  "responses": {
   "200": {"description": "Token ids", "content": {"application/json": {"schema": {
    "type": "object", "required": ["count", "max_model_len", "tokens"],
    "properties": {
     "count": {"type": "integer", "minimum": 0},
     "max_model_len": {"type": "integer", "minimum": 1},
     "tokens": {"$ref": "#/components/schemas/TokenIds"}}}}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"},
   "408": {"$ref": "#/components/responses/Error"}, "413": {"$ref": "#/components/responses/Error"},
   "415": {"$ref": "#/components/responses/Error"}, "417": {"$ref": "#/components/responses/Error"},
   "429": {"$ref": "#/components/responses/Error"}, "431": {"$ref": "#/components/responses/Error"},
   "503": {"$ref": "#/components/responses/Error"}}}},
 "/detokenize": {"post": {
  "operationId": "detokenize", "summary": "Returns the text of tokens",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
   "type": "object", "required": ["tokens"],
   "properties": {
    "model": {"$ref": "#/components/schemas/ModelName"},
    "tokens": {"$ref": "#/components/schemas/TokenIds"}}}}}},
  "responses": {
   "200": {"description": "A text; bytes that are no UTF-8 become U+FFFD",
    "content": {"application/json": {"schema": {
     "type": "object", "required": ["prompt"], "properties": {"prompt": {"type": "string"}}}}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "404": {"$ref": "#/components/responses/Error"},
   "408": {"$ref": "#/components/responses/Error"}, "413": {"$ref": "#/components/responses/Error"},
   "415": {"$ref": "#/components/responses/Error"}, "417": {"$ref": "#/components/responses/Error"},
   "429": {"$ref": "#/components/responses/Error"}, "431": {"$ref": "#/components/responses/Error"},
   "503": {"$ref": "#/components/responses/Error"}}}},
 "/v1/models": {"get": {
  "operationId": "listModels", "summary": "Lists the one model that is served here",
  "responses": {
   "200": {"description": "A list", "content": {"application/json": {"schema": {
    "type": "object", "required": ["object", "data"],
    "properties": {
     "object": {"const": "list"},
     "data": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}}}}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "408": {"$ref": "#/components/responses/Error"},
   "413": {"$ref": "#/components/responses/Error"}, "415": {"$ref": "#/components/responses/Error"},
   "417": {"$ref": "#/components/responses/Error"}, "429": {"$ref": "#/components/responses/Error"},
   "431": {"$ref": "#/components/responses/Error"},
    "503": {"$ref": "#/components/responses/Error"}}}},
 "/v1/models/{model}": {"get": {
  "operationId": "retrieveModel", "summary": "Describes the model",
  "parameters": [{"name": "model", "in": "path", "required": true,
   "schema": {"type": "string", "minLength": 1}}],
  "responses": {
   "200": {"description": "The model", "content": {"application/json": {
    "schema": {"$ref": "#/components/schemas/Model"}}}},
   "404": {"$ref": "#/components/responses/Error"},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "408": {"$ref": "#/components/responses/Error"},
   "413": {"$ref": "#/components/responses/Error"}, "415": {"$ref": "#/components/responses/Error"},
   "417": {"$ref": "#/components/responses/Error"}, "429": {"$ref": "#/components/responses/Error"},
   "431": {"$ref": "#/components/responses/Error"},
    "503": {"$ref": "#/components/responses/Error"}}}},
 "/health": {"get": {
  "operationId": "health", "summary": "Tells whether peers serve all layers", "security": [],
  "responses": {
   "200": {"description": "They do", "content": {"application/json": {"schema": {
    "type": "object", "required": ["status"], "properties": {"status": {"const": "ok"}}}}}},
   "400": {"$ref": "#/components/responses/Error"}, "403": {"$ref": "#/components/responses/Error"},
   "408": {"$ref": "#/components/responses/Error"}, "413": {"$ref": "#/components/responses/Error"},
   "415": {"$ref": "#/components/responses/Error"}, "417": {"$ref": "#/components/responses/Error"},
   "431": {"$ref": "#/components/responses/Error"},
    "503": {"$ref": "#/components/responses/Error"}}}},
 "/metrics": {"get": {
  "operationId": "metrics", "summary": "Figures for Prometheus",
  "responses": {
   "200": {"description": "Prometheus's text format, version 0.0.4",
    "content": {"text/plain": {"schema": {"type": "string"}}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "408": {"$ref": "#/components/responses/Error"},
   "413": {"$ref": "#/components/responses/Error"}, "415": {"$ref": "#/components/responses/Error"},
   "417": {"$ref": "#/components/responses/Error"}, "429": {"$ref": "#/components/responses/Error"},
   "431": {"$ref": "#/components/responses/Error"},
    "503": {"$ref": "#/components/responses/Error"}}}},
 "/api/state": {"get": {
  "operationId": "state", "summary": "Tells who serves which layers, and what happened",
  "responses": {
   "200": {"description": "The state", "content": {"application/json": {
    "schema": {"$ref": "#/components/schemas/State"}}}},
   "400": {"$ref": "#/components/responses/Error"}, "401": {"$ref": "#/components/responses/Error"},
   "403": {"$ref": "#/components/responses/Error"}, "408": {"$ref": "#/components/responses/Error"},
   "413": {"$ref": "#/components/responses/Error"}, "415": {"$ref": "#/components/responses/Error"},
   "417": {"$ref": "#/components/responses/Error"}, "429": {"$ref": "#/components/responses/Error"},
   "431": {"$ref": "#/components/responses/Error"},
    "503": {"$ref": "#/components/responses/Error"}}}}
},
"components": {
 "securitySchemes": {"key": {"type": "http", "scheme": "bearer",
  "description": "A key of the file that was given with --keys; without that file none is needed"}},
 "responses": {
  "Error":
   {"description":
   "Why there is no answer. After 429 and 503 the field Retry-After has the seconds to wait",
   "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
 },
 "schemas": {
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {
   "type": "object", "required": ["message", "type", "param", "code"],
   "properties": {
    "message": {"type": "string"},
    "type": {"enum": ["invalid_request_error", "requests", "server_error"]},
    "param": {"type": ["string", "null"], "description": "The field that is wrong"},
    "code": {"type": "string"}}}}},
  "Model": {"type": "object", "required": ["id", "object", "created", "owned_by", "max_model_len"],
   "properties": {
    "id": {"type": "string"}, "object": {"const": "model"}, "created": {"type": "integer"},
    "owned_by": {"const": "swarm"},
    "max_model_len":
     {"type": "integer", "minimum": 1, "description": "Tokens of a prompt and its answer"}}},
  "ModelName":
   {"type": ["string", "null"], "description": "Left out or empty: the model that is served here"},
  "TokenIds": {"type": "array", "description": "Ids below the model's number of tokens",
   "items": {"type": "integer", "minimum": 0}},
  "NotSupported": {"description": "Refused unless it is empty", "anyOf": [
   {"type": "null"}, {"type": "string", "maxLength": 0}, {"type": "array", "maxItems": 0},
   {"type": "object", "maxProperties": 0}]},
  "Flag": {"type": ["boolean", "null"]},
  "AnswerTokens": {"type": ["integer", "null"], "minimum": 1, "maximum": 262144},
  "Penalty": {"type": ["number", "null"], "minimum": -2, "maximum": 2},
  "StopText":
   {"type": "string", "minLength": 1, "maxLength": 1024, "description": "Of 1,024 bytes at most"},
  "CommonRequest": {"type": "object", "properties": {
   "model": {"$ref": "#/components/schemas/ModelName"},
   "max_completion_tokens": {"$ref": "#/components/schemas/AnswerTokens"},
   "max_tokens":
    {"$ref": "#/components/schemas/AnswerTokens",
    "description": "The same, when max_completion_tokens is left out"},
   "n":
    {"type": ["integer", "null"], "minimum": 1, "maximum": 32,
    "description": "Answers to each prompt; 32 answers in all"},
   "best_of":
    {"type": ["integer", "null"], "minimum": 1, "maximum": 32, "description": "As large as n"},
   "temperature":
    {"type": ["number", "null"], "minimum": 0, "maximum": 2,
    "description": "0: the likeliest token. Default: 1"},
   "top_p": {"type": ["number", "null"], "minimum": 1e-9, "maximum": 1},
   "top_k":
    {"type": ["integer", "null"], "minimum": -1, "maximum": 64,
    "description": "0 and -1: no bound"},
   "min_p": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
   "presence_penalty": {"$ref": "#/components/schemas/Penalty"},
   "frequency_penalty": {"$ref": "#/components/schemas/Penalty"},
   "repetition_penalty": {"type": ["number", "null"], "minimum": 1e-9, "maximum": 10},
   "logit_bias": {"type": ["object", "null"], "maxProperties": 512,
    "description": "Token ids, each with what is added to its logit",
    "propertyNames": {"pattern": "^[0-9]+$"},
    "additionalProperties": {"type": "number", "minimum": -100, "maximum": 100}},
   "seed":
    {"type": ["integer", "null"], "minimum": -9223372036854775807, "maximum": 9223372036854775807,
    "description": "The same seed draws the same text"},
   "stop": {"description": "The answer ends before the first of these texts", "anyOf": [
    {"type": "null"}, {"$ref": "#/components/schemas/StopText"},
    {"type": "array", "maxItems": 16, "items": {"$ref": "#/components/schemas/StopText"}}]},
   "stream": {"$ref": "#/components/schemas/Flag"},
   "stream_options": {"type": ["object", "null"], "description": "Wants stream to be true",
    "properties": {"include_usage": {"$ref": "#/components/schemas/Flag"}}},
   "ignore_eos":
    {"$ref": "#/components/schemas/Flag", "description": "Goes on after the end of the answer"},
   "return_token_ids":
    {"$ref": "#/components/schemas/Flag", "description": "Adds token_ids to each choice"},
   "response_format":
    {"type": ["object", "null"], "required": ["type"], "properties": {"type": {"const": "text"}}},
   "tools": {"$ref": "#/components/schemas/NotSupported"},
   "functions": {"$ref": "#/components/schemas/NotSupported"},
   "suffix": {"$ref": "#/components/schemas/NotSupported"},
   "audio": {"$ref": "#/components/schemas/NotSupported"},
   "prediction": {"$ref": "#/components/schemas/NotSupported"},
   "web_search_options": {"$ref": "#/components/schemas/NotSupported"},
   "guided_json": {"$ref": "#/components/schemas/NotSupported"},
   "guided_regex": {"$ref": "#/components/schemas/NotSupported"},
   "guided_choice": {"$ref": "#/components/schemas/NotSupported"},
   "guided_grammar": {"$ref": "#/components/schemas/NotSupported"},
   "grammar": {"$ref": "#/components/schemas/NotSupported"},
   "json_schema": {"$ref": "#/components/schemas/NotSupported"}}},
  "Messages": {"type": "array", "minItems": 1, "items": {
   "type": "object", "required": ["role", "content"],
   "properties": {
    "role": {"enum": ["system", "developer", "user", "assistant"]},
    "content": {"anyOf": [{"type": "string"}, {"type": "array", "items": {
     "type": "object", "required": ["type", "text"],
     "properties": {"type": {"const": "text"}, "text": {"type": "string"}}}}]}}}},
  "ChatRequest": {"allOf": [{"$ref": "#/components/schemas/CommonRequest"}, {
   "type": "object", "required": ["messages"],
   "properties": {
    "messages": {"$ref": "#/components/schemas/Messages"},
    "logprobs": {"$ref": "#/components/schemas/Flag"},
    "top_logprobs":
     {"type": ["integer", "null"], "minimum": 0, "maximum": 20,
     "description": "Wants logprobs to be true"}}}]},
  "PromptIds": {"allOf": [{"$ref": "#/components/schemas/TokenIds"}, {"minItems": 1}]},
  "PromptText": {"type": "string", "minLength": 1},
  "TextRequest": {"allOf": [{"$ref": "#/components/schemas/CommonRequest"}, {
   "type": "object", "required": ["prompt"],
   "properties": {
    "prompt": {"anyOf": [
     {"$ref": "#/components/schemas/PromptText"}, {"$ref": "#/components/schemas/PromptIds"},
     {"type": "array", "minItems": 1, "maxItems": 32, "items": {"anyOf": [
      {"$ref": "#/components/schemas/PromptText"}, {"$ref": "#/components/schemas/PromptIds"}]}}]},
    "logprobs":
     {"type": ["integer", "null"], "minimum": 0, "maximum": 20,
     "description": "Likeliest tokens that are told"},
    "echo":
     {"$ref": "#/components/schemas/Flag",
     "description": "Begins the text with the prompt; not with logprobs"}}}]},
  "TokenizeRequest": {"type": "object",
   "properties": {"model": {"$ref": "#/components/schemas/ModelName"}},
   "anyOf": [
    {"required": ["messages"],
     "properties": {"messages": {"$ref": "#/components/schemas/Messages"}}},
    {"required": ["prompt"],
     "properties": {"prompt": {"type": "string"}, "messages": {"type": "null"}}},
    {"required": ["content"], "properties": {
     "content": {"type": "string"}, "prompt": {"type": "null"}, "messages": {"type": "null"}}}]},
  "Usage": {"type": "object", "required": ["prompt_tokens", "completion_tokens", "total_tokens"],
   "properties": {
    "prompt_tokens": {"type": "integer", "minimum": 1},
    "prompt_tokens_details": {"type": "object", "properties": {
      "cached_tokens": {"type": "integer", "minimum": 0}}},
    "completion_tokens": {"type": "integer", "minimum": 1, "description": "The end token included"},
    "total_tokens": {"type": "integer", "minimum": 2}}},
  "FinishReason": {"enum": ["stop", "length"]},
  "Token": {"type": "object", "required": ["token", "logprob", "bytes"],
   "properties": {
    "token": {"type": "string"},
    "logprob": {"type": "number", "maximum": 0},
    "bytes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}}},
  "ChatLogprobs": {"type": ["object", "null"], "required": ["content", "refusal"],
   "properties": {"refusal": {"type": "null"}, "content": {"type": "array", "items": {"allOf": [
    {"$ref": "#/components/schemas/Token"},
    {"type": "object", "required": ["top_logprobs"], "properties": {"top_logprobs": {
     "type": "array", "items": {"$ref": "#/components/schemas/Token"}}}}]}}}},
  "TextLogprobs": {"type": ["object", "null"],
   "required": ["tokens", "token_logprobs", "top_logprobs", "text_offset"],
   "properties": {
    "tokens": {"type": "array", "items": {"type": "string"}},
    "token_logprobs": {"type": "array", "items": {"type": "number", "maximum": 0}},
    "top_logprobs":
     {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "number"}}},
    "text_offset": {"type": "array", "items": {"type": "integer", "minimum": 0}}}},
  "AnswerHead":
   {"type": "object", "required": ["id", "object", "created", "model", "choices", "usage"],
   "properties": {
    "id": {"type": "string"}, "created": {"type": "integer"}, "model": {"type": "string"},
    "usage": {"$ref": "#/components/schemas/Usage"}}},
  "ChatAnswer": {"allOf": [{"$ref": "#/components/schemas/AnswerHead"}, {"properties": {
   "object": {"const": "chat.completion"},
   "choices": {"type": "array", "minItems": 1, "maxItems": 32, "items": {
    "type": "object", "required": ["index", "message", "logprobs", "finish_reason"],
    "properties": {
     "index": {"type": "integer", "minimum": 0},
     "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
     "logprobs": {"$ref": "#/components/schemas/ChatLogprobs"},
     "token_ids": {"$ref": "#/components/schemas/TokenIds"},
     "message": {"type": "object", "required": ["role", "content", "refusal"],
      "properties": {
       "role": {"const": "assistant"}, "content": {"type": "string"},
        "refusal": {"type": "null"}}}}}}}}]},
  "TextAnswer": {"allOf": [{"$ref": "#/components/schemas/AnswerHead"}, {"properties": {
   "object": {"const": "text_completion"},
   "choices": {"type": "array", "minItems": 1, "maxItems": 32, "items": {
    "type": "object", "required": ["index", "text", "logprobs", "finish_reason"],
    "properties": {
     "index": {"type": "integer", "minimum": 0},
     "text": {"type": "string"},
     "finish_reason": {"$ref": "#/components/schemas/FinishReason"},
     "logprobs": {"$ref": "#/components/schemas/TextLogprobs"},
     "token_ids": {"$ref": "#/components/schemas/TokenIds"}}}}}}]},
  "State": {"type": "object",
   "required": ["model", "join_line", "join_here_only", "served", "answers_running",
    "answers_waiting", "tokens", "tokens_per_s", "models", "events"],
   "properties": {
    "model": {"type": "string"},
    "join_line":
     {"type": "string", "description": "The command by which a machine joins the peers"},
    "join_here_only":
     {"type": "boolean", "description": "The command works on the machine of the server alone"},
    "served": {"type": "boolean", "description": "All layers have a peer"},
    "answers_running": {"type": "integer", "minimum": 0},
    "answers_waiting": {"type": "integer", "minimum": 0},
    "tokens": {"type": "integer", "minimum": 0, "description": "Tokens of all answers so far"},
    "tokens_per_s": {"type": "number", "minimum": 0},
    "models": {"type": "array", "items": {"$ref": "#/components/schemas/ServedModel"}},
    "events": {"type": "array", "description": "The newest first", "items": {
     "type": "object", "required": ["seconds_ago", "what", "peer", "reason"],
     "properties": {
      "seconds_ago": {"type": "number", "minimum": 0},
      "what": {"enum": ["peer came", "peer gone", "failover"]},
      "peer": {"type": ["string", "null"]},
      "reason": {"type": "string"}}}}}},
  "ServedModel": {"type": "object", "required": ["name", "layers", "served", "stages"],
   "properties": {
    "name": {"type": "string"}, "layers": {"type": "integer", "minimum": 0},
     "served": {"type": "boolean"},
    "stages": {"type": "array", "items": {"type": "object", "required": ["layers", "peers"],
     "properties": {
      "layers":
       {"type": "array", "minItems": 2, "maxItems": 2, "description": "The first and the last one",
       "items": {"type": "integer", "minimum": 0}},
      "peers": {"type": "array", "minItems": 1, "items": {
       "type": "object", "required": ["id", "prefill_rows_per_s", "decode_rows_per_s", "share"],
       "properties": {
        "id": {"type": "string"},
        "prefill_rows_per_s": {"type": "number", "minimum": 0},
        "decode_rows_per_s": {"type": "number", "minimum": 0},
        "share": {"type": "number", "minimum": 0, "maximum": 1,
         "description": "The part of the texts that is likely to take this peer"}}}}}}}}}
 }
}
}
)json";

}  // namespace stacking::api
