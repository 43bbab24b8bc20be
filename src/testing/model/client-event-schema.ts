/**
 * The eleven client events of the GA dialect, as strictly as the real server reads them: a field too many, one
 * missing or one of the wrong type is an error event with the code, text and `param` that it would send.
 *
 * @module
 */

import { z } from 'zod';

/** Largest `audio` of one append, decoded. */
export const MAX_APPEND_BYTES = 15 * 1024 * 1024;

const eventId = { event_id: z.string().max(512).optional() };
const base64 = z
  .string()
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)
  .max((MAX_APPEND_BYTES / 3) * 4);

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('audio/pcm'), rate: z.literal(24000).optional() }),
  z.strictObject({ type: z.literal('audio/pcmu') }),
  z.strictObject({ type: z.literal('audio/pcma') }),
]);

const gates = { create_response: z.boolean().optional(), interrupt_response: z.boolean().optional() };
const turnDetection = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('server_vad'),
    threshold: z.number().min(0).max(1).optional(),
    prefix_padding_ms: z.int().min(0).optional(),
    silence_duration_ms: z.int().min(0).optional(),
    idle_timeout_ms: z.int().nullable().optional(),
    ...gates,
  }),
  z.strictObject({
    type: z.literal('semantic_vad'),
    eagerness: z.enum(['low', 'medium', 'high', 'auto']).optional(),
    ...gates,
  }),
]);

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/),
  description: z.string().optional(),
  parameters: z.record(z.string(), z.unknown()).optional(),
});
const mcpTool = z.looseObject({ type: z.literal('mcp'), server_label: z.string() });
const tools = z.array(z.discriminatedUnion('type', [functionTool, mcpTool]));
const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({ type: z.enum(['function', 'mcp']) }),
]);

const voice = z.union([z.string().min(1), z.strictObject({ id: z.string() })]);
const modalities = z.array(z.enum(['audio', 'text'])).length(1);
const maxTokens = z.union([z.int().min(1).max(4096), z.literal('inf')]);
const reasoning = z.strictObject({
  effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
});
const prompt = z.looseObject({ id: z.string() }).nullable();
const tracing = z.union([z.literal('auto'), z.looseObject({}), z.null()]);

const transcription = z.strictObject({
  model: z.string().optional(),
  language: z.string().optional(),
  languages: z.array(z.string()).optional(),
  keywords: z.array(z.string()).optional(),
  prompt: z.string().optional(),
  delay: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh']).optional(),
});

const audioInput = z.strictObject({
  format: format.optional(),
  noise_reduction: z
    .strictObject({ type: z.enum(['near_field', 'far_field']), strength: z.number().optional() })
    .nullable()
    .optional(),
  transcription: transcription.nullable().optional(),
  turn_detection: turnDetection.nullable().optional(),
});

const session = z.strictObject({
  type: z.enum(['realtime', 'transcription']),
  model: z.string().optional(),
  instructions: z.string().optional(),
  output_modalities: modalities.optional(),
  audio: z
    .strictObject({
      input: audioInput.optional(),
      output: z
        .strictObject({
          format: format.optional(),
          voice: voice.optional(),
          speed: z.number().min(0.25).max(1.5).optional(),
        })
        .optional(),
    })
    .optional(),
  tools: tools.optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: reasoning.optional(),
  max_output_tokens: maxTokens.optional(),
  truncation: z
    .union([z.enum(['auto', 'disabled']), z.looseObject({ type: z.literal('retention_ratio') })])
    .optional(),
  include: z.array(z.literal('item.input_audio_transcription.logprobs')).nullable().optional(),
  tracing: tracing.optional(),
  prompt: prompt.optional(),
});

const itemBase = {
  id: z.string().max(64).optional(),
  object: z.literal('realtime.item').optional(),
  status: z.enum(['completed', 'incomplete', 'in_progress']).optional(),
};
const inputText = z.strictObject({ type: z.literal('input_text'), text: z.string() });
const userContent = z.discriminatedUnion('type', [
  inputText,
  z.strictObject({
    type: z.literal('input_audio'),
    audio: base64,
    transcript: z.string().nullable().optional(),
  }),
  z.strictObject({
    type: z.literal('input_image'),
    image_url: z.string(),
    detail: z.enum(['auto', 'low', 'high']).optional(),
  }),
]);
// Assistant audio can't be put into a conversation: the server asks for its text instead.
const assistantContent = z.strictObject({
  type: z.enum(['output_text', 'output_audio']),
  text: z.string(),
  audio: z.null().optional(),
  transcript: z.string().nullable().optional(),
});
const callId = z.string().regex(/^[a-zA-Z0-9_-]+$/);

const message = z.discriminatedUnion('role', [
  z.strictObject({
    type: z.literal('message'),
    role: z.literal('user'),
    content: z.array(userContent),
    ...itemBase,
  }),
  z.strictObject({
    type: z.literal('message'),
    role: z.literal('system'),
    content: z.array(inputText),
    ...itemBase,
  }),
  z.strictObject({
    type: z.literal('message'),
    role: z.literal('assistant'),
    content: z.array(assistantContent),
    ...itemBase,
  }),
]);

export const itemSchema = z.discriminatedUnion('type', [
  message,
  z.strictObject({
    type: z.literal('function_call'),
    name: z.string().min(1),
    arguments: z.string(),
    call_id: callId.optional(),
    ...itemBase,
  }),
  z.strictObject({
    type: z.literal('function_call_output'),
    call_id: callId,
    output: z.string(),
    ...itemBase,
  }),
  z.strictObject({
    type: z.literal('mcp_approval_response'),
    approval_request_id: z.string(),
    approve: z.boolean(),
    reason: z.string().nullable().optional(),
    ...itemBase,
  }),
]);

const responseParams = z.strictObject({
  conversation: z.enum(['auto', 'none']).optional(),
  input: z.array(z.looseObject({ type: z.string() })).optional(),
  instructions: z.string().optional(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullable().optional(),
  output_modalities: modalities.optional(),
  audio: z
    .strictObject({
      output: z.strictObject({ format: format.optional(), voice: voice.optional() }).optional(),
    })
    .optional(),
  tools: tools.optional(),
  tool_choice: toolChoice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: reasoning.optional(),
  max_output_tokens: maxTokens.optional(),
  prompt: prompt.optional(),
});

export const clientEventSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('session.update'), session, ...eventId }),
  z.strictObject({ type: z.literal('input_audio_buffer.append'), audio: base64, ...eventId }),
  z.strictObject({ type: z.literal('input_audio_buffer.commit'), ...eventId }),
  z.strictObject({ type: z.literal('input_audio_buffer.clear'), ...eventId }),
  z.strictObject({
    type: z.literal('conversation.item.create'),
    item: itemSchema,
    previous_item_id: z.string().nullable().optional(),
    ...eventId,
  }),
  z.strictObject({ type: z.literal('conversation.item.retrieve'), item_id: z.string(), ...eventId }),
  z.strictObject({ type: z.literal('conversation.item.delete'), item_id: z.string(), ...eventId }),
  z.strictObject({
    type: z.literal('conversation.item.truncate'),
    item_id: z.string(),
    content_index: z.literal(0),
    audio_end_ms: z.int().min(0),
    ...eventId,
  }),
  z.strictObject({ type: z.literal('response.create'), response: responseParams.optional(), ...eventId }),
  z.strictObject({ type: z.literal('response.cancel'), response_id: z.string().optional(), ...eventId }),
  z.strictObject({ type: z.literal('output_audio_buffer.clear'), ...eventId }),
]);

export type ClientEvent = z.output<typeof clientEventSchema>;
export type SessionPatch = z.output<typeof session>;
export type ResponseParams = z.output<typeof responseParams>;
export type ClientItem = z.output<typeof itemSchema>;
export type TurnDetection = z.output<typeof turnDetection>;
export type WireFormat = z.output<typeof format>;

export const CLIENT_EVENT_TYPES = clientEventSchema.options.map((option) => option.shape.type.value);
