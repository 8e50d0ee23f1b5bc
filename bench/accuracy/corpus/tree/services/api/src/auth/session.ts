import { randomBytes } from "node:crypto";

const LIFETIME_MS = 30 * 60 * 1000;

export async function createSession(user, pool) {
  const token = randomBytes(32).toString("hex");
  await pool.query("INSERT INTO sessions (token, user_id, expires) VALUES ($1, $2, $3)", [
    token,
    user.id,
    Date.now() + LIFETIME_MS,
  ]);
  return token;
}

export async function requireUser(request, pool) {
  const token = request.cookies.session;
  const session = await pool.one("SELECT * FROM sessions WHERE token = $1", [token]);
  if (!session || session.expires < Date.now()) {
    throw new Unauthorized();
  }
  return session.user;
}

export async function logout(request, response, pool) {
  await pool.query("DELETE FROM sessions WHERE token = $1", [request.cookies.session]);
  response.end();
}

class Unauthorized extends Error {}
