// Written by `remit install opencode`; `remit uninstall opencode` removes it.
// It passes events of opencode to Remit's hook process and obeys the answers. A process that fails lets the call pass.
import { spawn, spawnSync } from "node:child_process"

const COMMAND = @COMMAND@
const SECONDS = 60
const MAX_OUTPUT = 200000
// `opencode run` ends when the session is idle, so a prompt would come too late.
const ENDS_WHEN_IDLE = process.argv.includes("run")

function command(event) {
  return COMMAND.map((word) => (word === "EVENT" ? event : word))
}

// Ask without giving way to any other code, which could end the process.
function askNow(event, payload) {
  try {
    const [program, ...args] = command(event)
    const limits = { timeout: SECONDS * 1000, maxBuffer: 16 * 1024 * 1024 }
    const { stdout } = spawnSync(program, args, { input: JSON.stringify(payload), encoding: "utf8", ...limits })
    return stdout?.trim() ? JSON.parse(stdout) : {}
  } catch {
    return {}
  }
}

function ask(event, payload) {
  return new Promise((resolve) => {
    const [program, ...args] = command(event)
    let text = ""
    const done = () => {
      try {
        resolve(text.trim() ? JSON.parse(text) : {})
      } catch {
        resolve({})
      }
    }
    try {
      const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] })
      const limit = setTimeout(() => child.kill(), SECONDS * 1000)
      child.on("error", () => resolve({}))
      child.on("close", () => {
        clearTimeout(limit)
        done()
      })
      child.stdout.on("data", (data) => (text += data))
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve({})
    }
  })
}

export const Remit = async ({ client, directory }) => {
  const sessions = new Map()
  const notes = new Map()
  const corrections = new Set()

  // The session that the user started, and the subagent that works in a session below it.
  async function owner(sessionID) {
    if (sessions.has(sessionID)) return sessions.get(sessionID)
    let found = { rootID: sessionID, agent: "" }
    try {
      const { data } = await client.session.get({ path: { id: sessionID } })
      if (data?.parentID) found = { rootID: (await owner(data.parentID)).rootID, agent: data.agent || "subagent" }
    } catch {
      return found
    }
    sessions.set(sessionID, found)
    return found
  }

  async function send(event, sessionID, fields) {
    const answer = await ask(event, { sessionID, cwd: directory, ...(await owner(sessionID)), ...fields })
    if (answer.message) {
      const body = { service: "remit", level: "warn", message: answer.message }
      await client.app.log({ body }).catch(() => {})
    }
    return answer
  }

  function cut(all) {
    for (const part of all.flatMap((one) => one.parts)) {
      if (part.state?.output?.length > MAX_OUTPUT) part.state.output = part.state.output.slice(0, MAX_OUTPUT)
    }
    return all
  }

  async function messages(sessionID) {
    try {
      const { data } = await client.session.messages({ path: { id: sessionID } })
      return cut(data ?? [])
    } catch {
      return []
    }
  }

  // The messages of the session in `opencode run`, from events.
  const seen = new Map()

  function record({ type, properties }) {
    if (type === "message.updated") {
      const { info } = properties
      seen.set(info.id, { info, parts: seen.get(info.id)?.parts ?? new Map() })
    } else if (type === "message.part.updated") {
      const { part } = properties
      seen.get(part.messageID)?.parts.set(part.id, part)
    }
  }

  function reportAnswer(sessionID) {
    const own = [...seen.values()].filter((one) => one.info.sessionID === sessionID)
    const all = cut(structuredClone(own.map(({ info, parts }) => ({ info, parts: [...parts.values()] }))))
    const last = all.at(-1)
    if (sessions.get(sessionID)?.agent !== "" || last?.info.role !== "assistant" || last.info.error) return
    const about = { sessionID, rootID: sessionID, agent: "", cwd: directory }
    const answer = askNow("session.idle", { ...about, answer: texts(last.parts), messages: all })
    if (!answer.block) return
    process.stderr.write(`\n${answer.block}\n`)
    process.exitCode = 1
  }

  const texts = (parts) => (parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")

  async function deliver(input, output) {
    const child = output.metadata?.sessionId
    // Up to the last end tag: the text of a report may contain one.
    const found = /<task_result>\n?([\s\S]*)<\/task_result>/.exec(output.output)
    if (!child || !found) return
    let report = found[1].replace(/\n$/, "")
    const agent = input.args?.subagent_type
    const about = { callID: input.callID, child, args: input.args }
    // Remit sends a report back once; the limit here is for a hook process of another version.
    for (let attempt = 0; attempt < 3; attempt++) {
      const fields = { ...about, report, again: attempt > 0, messages: await messages(child) }
      const judged = await send("task.report", input.sessionID, fields)
      if (!judged.block) break
      const body = { agent, parts: [{ type: "text", text: judged.block }] }
      const { data } = await client.session.prompt({ path: { id: child }, body })
      report = texts(data?.parts)
    }
    const answer = await send("task.delivered", input.sessionID, { ...about, report })
    const shown = answer.output ?? report
    output.output = output.output.replace(found[0], () => `<task_result>\n${shown}\n</task_result>`)
    if (answer.context) output.output += `\n\n${answer.context}`
  }

  return {
    "chat.message": async (input, output) => {
      const prompt = texts(output.parts)
      if (corrections.delete(prompt)) return
      await send("chat.message", input.sessionID, { prompt })
    },
    "tool.execute.before": async (input, output) => {
      const { tool, sessionID, callID } = input
      if (tool !== "task") return
      const answer = await send("tool.execute.before", sessionID, { tool, callID, args: output.args })
      if (answer.args) Object.assign(output.args, answer.args)
      if (answer.context) notes.set(callID, answer.context)
    },
    "tool.execute.after": async (input, output) => {
      if (input.tool !== "task") return
      const before = notes.get(input.callID)
      notes.delete(input.callID)
      await deliver(input, output)
      if (before) output.output += `\n\n${before}`
    },
    event: async ({ event }) => {
      if (ENDS_WHEN_IDLE) record(event)
      if (event.type !== "session.idle") return
      if (ENDS_WHEN_IDLE) return reportAnswer(event.properties.sessionID)
      const sessionID = event.properties.sessionID
      if ((await owner(sessionID)).agent) return
      const all = await messages(sessionID)
      const last = all.at(-1)
      if (last?.info.role !== "assistant" || last.info.error) return
      const answer = await send("session.idle", sessionID, { answer: texts(last.parts), messages: all })
      if (!answer.block) return
      corrections.add(answer.block)
      const body = { parts: [{ type: "text", text: answer.block }] }
      await client.session.promptAsync({ path: { id: sessionID }, body }).catch(() => {})
    },
  }
}
