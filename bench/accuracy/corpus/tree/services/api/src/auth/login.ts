import { compare } from "bcrypt";
import { createSession } from "./session";

const MAX_ATTEMPTS = 5;

export async function login(request, response, pool) {
  const { email, password } = request.body;
  const user = await pool.one("SELECT * FROM users WHERE email = $1", [email]);
  if (!user || user.attempts >= MAX_ATTEMPTS) {
    response.statusCode = 401;
    return response.end();
  }
  const matches = await compare(password, user.hash);
  if (!matches) {
    await pool.query("UPDATE users SET attempts = attempts + 1 WHERE id = $1", [user.id]);
    response.statusCode = 401;
    return response.end();
  }
  const token = await createSession(user, pool);
  response.setHeader("Set-Cookie", `session=${token}; HttpOnly; SameSite=Lax`);
  response.end();
}
