import { login, logout } from "./auth";
import { listEntries, addEntry } from "./entries";

export const routes = new Map([
  ["POST /login", login],
  ["POST /logout", logout],
  ["GET /entries", listEntries],
  ["POST /entries", addEntry],
]);
