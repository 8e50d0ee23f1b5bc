import pg from "pg";

export type Pool = pg.Pool;

export async function openPool(): Promise<Pool> {
  const pool = new pg.Pool({ max: 10, idleTimeoutMillis: 30_000 });
  await pool.query("SELECT 1");
  return pool;
}
