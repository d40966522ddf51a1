// proxy.mjs URL KEY: adds the key, which the suite cannot send, to each request. Prints its own address.
import http from "node:http";

const [url, key] = process.argv.slice(2);
const server = http.createServer((from, to) => {
  const headers = { ...from.headers, authorization: `Bearer ${key}` };
  const request = http.request(url, { method: from.method, headers }, (answer) => {
    to.writeHead(answer.statusCode, answer.headers);
    to.flushHeaders();
    answer.pipe(to);
  });
  request.on("error", () => to.destroy());
  to.on("close", () => request.destroy());
  from.pipe(request);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
