import { createServer } from "node:http";
import { routes } from "./routes";
import { openPool } from "./db/pool";

const PORT = Number(process.env.PORT ?? 8080);

export async function start(): Promise<void> {
  const pool = await openPool();
  const server = createServer((request, response) => {
    const handler = routes.get(`${request.method} ${request.url}`);
    if (!handler) {
      response.statusCode = 404;
      response.end("not found");
      return;
    }
    handler(request, response, pool);
  });
  server.listen(PORT);
}
