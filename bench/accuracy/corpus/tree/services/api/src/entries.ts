import type { Pool } from "./db/pool";
import { requireUser } from "./auth/session";

const PAGE_SIZE = 50;

export async function listEntries(request, response, pool: Pool) {
  const user = await requireUser(request, pool);
  const page = Number(request.query.page ?? 0);
  const rows = await pool.query(
    "SELECT * FROM entries WHERE club = $1 ORDER BY booked_at LIMIT $2 OFFSET $3",
    [user.club, PAGE_SIZE, page * PAGE_SIZE],
  );
  response.json(rows);
}

export async function addEntry(request, response, pool: Pool) {
  const user = await requireUser(request, pool);
  if (!user.mayWrite) {
    response.statusCode = 403;
    return response.end();
  }
  const { amount, text } = request.body;
  if (amount === 0 || text.length > 200) {
    response.statusCode = 422;
    return response.end();
  }
  await pool.query("INSERT INTO entries (club, amount, text) VALUES ($1, $2, $3)", [user.club, amount, text]);
  response.statusCode = 201;
  response.end();
}
