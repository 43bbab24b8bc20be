/**
 * Our section of nanobot's config file, `channels.realtime`: every key with its default beside it. The section
 * is strict; reading the file, `${VAR}` and the errors a person sees live in `host/config/`.
 *
 * @module
 */

import { z } from 'zod';
import { approvalsSchema } from './config-approvals.ts';
import { authorizationSchema, mediaSchema } from './config-media.ts';
import { pageSchema, tlsSchema, trustedProxiesSchema } from './config-page.ts';
import { ringSchema } from './config-ring.ts';
import { webrtcSchema } from './config-webrtc.ts';

const glob = z.string().min(1).max(200);

/** `channels.realtime.server` */
const serverSchema = z
  .strictObject({
    /** Address the gateway listens on. Anything but loopback wants `publicUrl` and a carrier's signature. */
    host: z.string().min(1).default('127.0.0.1'),
    /** TCP port; 0 takes a free one. */
    port: z.int().min(0).max(65535).default(8787),
    /** The address carriers reach us at, e.g. `https://voice.example.com`; signatures are checked against it. */
    publicUrl: z.url({ protocol: /^https?$/ }).optional(),
    /** How long running calls may go on after SIGTERM, in seconds. */
    drainTimeoutS: z.number().min(0).max(3600).default(30),
    /** Port for Prometheus' `/metrics`, always on 127.0.0.1; 0 takes a free one, left out there are none. */
    metricsPort: z.int().min(0).max(65535).optional(),
    /** A certificate of its own; else a reverse proxy or a tunnel has it. */
    tls: tlsSchema,
    /** Reverse proxies that are believed when they say who asked (`X-Forwarded-For`). */
    trustedProxies: trustedProxiesSchema,
  })
  .prefault({});

/** `channels.realtime.model` */
const modelSchema = z
  .strictObject({
    /** `auto`: `openai` when a key is there, else `command`, the offline model. */
    provider: z.enum(['auto', 'openai', 'azure', 'xai', 'openai-compatible', 'command']).default('auto'),
    model: z.string().min(1).default('gpt-realtime-2.1'),
    voice: z.string().min(1).default('marin'),
    /** The key; `OPENAI_API_KEY` (or the provider's own variable) when left out. */
    apiKey: z.string().min(1).optional(),
    /** WebSocket or HTTP base of another server; `ws://` only for an address the operator names here. */
    baseUrl: z.string().min(1).optional(),
    /** Model that writes down what the caller said; `null` turns transcripts of the caller off. */
    transcriptionModel: z.string().min(1).nullable().default('gpt-4o-mini-transcribe'),
    turnDetection: z
      .strictObject({
        type: z.enum(['server_vad', 'semantic_vad']).default('server_vad'),
        threshold: z.number().min(0).max(1).default(0.5),
        prefixPaddingMs: z.int().min(0).max(5000).default(300),
        silenceDurationMs: z.int().min(100).max(10_000).default(500),
        eagerness: z.enum(['low', 'medium', 'high', 'auto']).default('auto'),
      })
      .prefault({}),
    /** What the model costs, for the call record; while all are 0, no cost is worked out. */
    prices: z
      .strictObject({
        currency: z.string().min(1).max(8).default('USD'),
        /** Per million tokens. */
        inputText: z.number().min(0).default(0),
        inputAudio: z.number().min(0).default(0),
        inputCached: z.number().min(0).default(0),
        outputText: z.number().min(0).default(0),
        outputAudio: z.number().min(0).default(0),
        /** Per minute, for a model that reports seconds. */
        minute: z.number().min(0).default(0),
      })
      .prefault({}),
  })
  .prefault({});

/** `channels.realtime.limits`; every bound that a call meets. */
const limitsSchema = z
  .strictObject({
    maxCalls: z.int().min(1).max(10_000).default(100),
    /** Longest call, in seconds; the caller hears a goodbye before the line drops. */
    maxCallS: z.number().min(10).max(86_400).default(3600),
    /** No audio from the carrier for this long ends the call. */
    noMediaTimeoutS: z.number().min(5).max(600).default(30),
    /** A caller who says nothing is asked about it after this long, and the call ends after as long again. */
    silenceTimeoutS: z.number().min(5).max(3600).default(30),
    /** Deadline of one tool call. */
    toolTimeoutS: z.number().min(1).max(3600).default(60),
    /** Characters of a tool's output that the model gets; the rest is cut with a marker. */
    toolOutputChars: z.int().min(200).max(200_000).default(16_000),
    /** A response without a sign of life for this long is cancelled, and the caller hears something. */
    responseStallS: z.number().min(2).max(120).default(15),
    /** A tool that runs longer than this is covered by a spoken filler. */
    fillerAfterMs: z.int().min(0).max(60_000).default(2500),
    /** A carrier's stream that broke off, where it can come back, may take this long. */
    reconnectGraceS: z.number().min(0).max(60).default(10),
  })
  .prefault({});

/** `channels.realtime.interruption` */
const interruptionSchema = z
  .strictObject({
    /**
     * `immediate`: at the first detector. `after-speech`: once the caller spoke for `minSpeechMs`.
     * `duck-then-confirm`: the agent is turned down at the first detector (where the leg can), and interrupted once
     * a word was understood or the caller spoke for `confirmMs`.
     */
    policy: z.enum(['immediate', 'after-speech', 'duck-then-confirm']).default('immediate'),
    minSpeechMs: z.int().min(0).max(3000).default(300),
    confirmMs: z.int().min(0).max(5000).default(800),
    /** An answer that was cut by a noise goes on where it was cut. */
    resumeFalseAlarms: z.boolean().default(true),
    /** No word and no answer for this long after the caller fell silent: it was a noise. */
    falseAlarmWaitMs: z.int().min(100).max(10_000).default(2500),
    /** Listens for the caller's voice itself, beside the model. */
    localDetector: z.boolean().default(false),
    /** The greeting can't be interrupted. */
    protectGreeting: z.boolean().default(false),
    /** Hard cap of a protected greeting. */
    protectGreetingMaxMs: z.int().min(0).max(30_000).default(10_000),
  })
  .prefault({});

const toolEnd = z.enum(['abort', 'finish', 'deliver']);

/** One entry of `channels.realtime.tools.policies`; what is left out stays as it is by default. */
const toolPolicySchema = z.strictObject({
  /** Exact name or glob. */
  tool: glob,
  timeoutS: z.number().min(1).max(3600).optional(),
  /** Runs alone: one exclusive tool at a time. */
  exclusive: z.boolean().optional(),
  /** What the caller's interruption does to it. */
  onInterrupt: toolEnd.optional(),
  /** What the end of the call does to it. */
  onHangup: toolEnd.optional(),
});

const transferSchema = z.strictObject({
  /** What the model calls it. */
  name: z.string().min(1).max(60),
  /** Number or SIP address; the model never sees it. */
  target: z.string().min(1).max(200),
});

export const TWILIO_BASE_URL = 'https://api.twilio.com';

const twilioSchema = z.strictObject({
  /** Auth token that signs Twilio's webhooks; `TWILIO_AUTH_TOKEN` when left out. */
  authToken: z.string().min(1).optional(),
  /**
   * When given, calls of any other account are refused. With it, or `TWILIO_ACCOUNT_SID`, calls can be ended,
   * transferred and sent keys at Twilio.
   */
  accountSid: z.string().min(1).optional(),
  /** An API key for that, instead of the auth token; `TWILIO_API_KEY` and `TWILIO_API_SECRET` when left out. */
  apiKey: z
    .strictObject({ sid: z.string().min(1).optional(), secret: z.string().min(1).optional() })
    .prefault({}),
  /** Twilio's REST API; another one of its regions. */
  baseUrl: z.url({ protocol: /^https?$/ }).default(TWILIO_BASE_URL),
  /** Shared keys for signed webhooks, id → secret; only where Twilio was told to sign with one. */
  sharedKeys: z.record(z.string().min(1), z.string().min(1)).default({}),
  /** Accept unsigned webhooks. Refused when `server.publicUrl` is set or the host is not loopback. */
  unsafeSkipSignature: z.boolean().default(false),
});

export const realtimeConfigSchema = z.strictObject({
  enabled: z.boolean().default(true),
  /** Who may call, as nanobot has it: `*`, or caller ids; an empty list denies everybody. */
  allowFrom: z.array(z.string()).default(['*']),
  /** nanobot's own per-channel keys; accepted and left to the host. */
  streaming: z.boolean().default(false),
  sendProgress: z.boolean().default(false),
  sendToolHints: z.boolean().default(false),
  showReasoning: z.boolean().default(false),
  /**
   * Inside another nanobot, how far its tools are reached: `public` by public classes only, `full` by its live agent
   * loop, `delegate` by requests over its bus.
   */
  toolAccess: z.enum(['full', 'public', 'delegate']).default('public'),
  /** Read by the host that starts us: path of the Node executable, and folder of this package. */
  node: z.string().default(''),
  package: z.string().default(''),
  server: serverSchema,
  model: modelSchema,
  /** Who the agent is on the phone; the workspace's persona files (`SOUL.md`, `IDENTITY.md`…) when left out. */
  persona: z.string().min(1).max(20_000).optional(),
  /** Said word for word when the call starts; an empty string lets the caller speak first. */
  greeting: z.string().max(500).default('Hello, how can I help you?'),
  /** Language of the offline model and of everything said word for word: a folder of `assets/locales`. */
  locale: z
    .string()
    .regex(/^[a-z]{2}-[a-z]{2}$/)
    .default('en-us'),
  /** IANA time zone told to the model; the machine's own when left out. */
  timezone: z.string().min(1).optional(),
  /** JSON file with extra spoken phrases for the offline model. */
  phrasesFile: z.string().min(1).optional(),
  /** What a voice session sees of the registry and may run: exact names and globs; deny wins. */
  tools: z
    .strictObject({
      allow: z.array(glob).default(['*']),
      deny: z.array(glob).default([]),
      /** `direct`: the tools themselves. `delegate`: only `ask_agent`, the host's text agent. `both`. */
      mode: z.enum(['direct', 'delegate', 'both']).default('direct'),
      /** Deadline of one `ask_agent`. */
      askTimeoutS: z.number().min(5).max(3600).default(180),
      /** Deadlines, and what interruptions and hang-ups do; the first entry that fits a tool counts. */
      policies: z.array(toolPolicySchema).max(200).default([]),
      /** Media tools that a session may use; one that is not listed does not exist. */
      authorization: authorizationSchema,
    })
    .prefault({}),
  /** Where the agent may transfer a call to, on carriers that can. */
  transfers: z.array(transferSchema).max(50).default([]),
  carriers: z.strictObject({ twilio: twilioSchema.optional() }).prefault({}),
  /** How a browser's audio reaches this process. */
  webrtc: webrtcSchema,
  /** The page that people call from, and the operator's. */
  page: pageSchema,
  interruption: interruptionSchema,
  limits: limitsSchema,
  /** Which tools wait for a person, who decides, how they are asked. */
  approvals: approvalsSchema,
  /** How pictures and files reach the caller. */
  media: mediaSchema,
  /** Who is rung up when the agent has something to say and they are not on the line. */
  ring: ringSchema,
  /** Keeps `call.wav`, `call.json` and `call.html` of every call. Tell callers before you turn it on. */
  recording: z
    .strictObject({ enabled: z.boolean().default(false), directory: z.string().min(1).optional() })
    .prefault({}),
  identity: z
    .strictObject({
      /** Strength a caller needs before their own person's session is used instead of the call's. */
      personSession: z.enum(['claimed', 'attested', 'authenticated']).default('authenticated'),
      /** Whether a carrier's full attestation (STIR/SHAKEN A) counts as `attested`. */
      acceptAttestation: z.boolean().default(false),
    })
    .prefault({}),
  /** Rows of the session's past that the model is told at the start of a call. */
  historyRows: z.int().min(0).max(200).default(20),
  store: z
    .strictObject({
      engine: z.enum(['sqlite', 'postgres']).default('sqlite'),
      /** Connection string, for `postgres`. */
      url: z.string().min(1).optional(),
    })
    .prefault({}),
  logLevel: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

/** `channels.realtime`, parsed: every default filled in. */
export type RealtimeConfig = z.output<typeof realtimeConfigSchema>;

/** What a person may write. */
export type RealtimeConfigInput = z.input<typeof realtimeConfigSchema>;
