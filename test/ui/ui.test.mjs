// The web application of scidex-oci in a real Chromium: that people with a keyboard or a screen reader can use it, that pages
// keep themselves up to date, and that neither outputs nor other sites reach anything. scripts/test browser has what it needs.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const program = process.env.SCIDEX_OCI_BIN;
const examples = ["brain-networks", "fmri", "penguins"];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const scratch = mkdtempSync(join(tmpdir(), "test-ui-"));
const environment = { ...process.env, SCIDEX_OCI_ROOT: join(scratch, "root"), SCIDEX_OCI_LIMITS: "best-effort" };
const hostile = `
printf '<script>fetch("http://hostile.invalid/");document.title="broken"</script>' >page.html
printf '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="broken"</script></svg>' >drawing.svg
printf 'a,b\\n<img src=x onerror=document.title="broken">,2\\n' >table.csv
printf '\\033[2J</pre><script>document.title="broken"</script>\\n'`;

// hostileNotebook has in each place of a notebook what would execute, load, cover or lead away.
const markup = `<script>document.title="broken"</script><img src="http://hostile.invalid/x.png" onerror='document.title="broken"'><iframe src="http://hostile.invalid/"></iframe>
<style>body{display:none}</style><div style="position:fixed;inset:0;background:red">covers</div><svg onload='document.title="broken"'></svg><a href='javascript:document.title="broken"'>link</a>
<meta http-equiv="refresh" content="0;url=http://hostile.invalid/"><form action="http://hostile.invalid/"><input name="password"></form><div class="failure state complete">complete</div>`;
const output = (data) => ({ output_type: "display_data", data, metadata: {} });
const hostileNotebook = JSON.stringify({
  nbformat: 4,
  cells: [
    { cell_type: "markdown", source: `# ${markup}\n\n${markup}\n\n[x](javascript:alert(1)) ![y](http://hostile.invalid/y.png)` },
    {
      cell_type: "code",
      execution_count: 1,
      source: "</pre><script>document.title='broken'</script>",
      outputs: [
        output({ "text/html": markup }),
        output({ "text/html": "<table><tr><th></th><th>a</th></tr><tr><th>0</th><td>1</td></tr></table><h1>a</h1><h6>b</h6>" }),
        output({ "image/svg+xml": `<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="broken"</script></svg>` }),
        output({ "application/javascript": "document.title='broken'" }),
        { output_type: "stream", name: "stdout", text: "\u001b[31mred \u001b[2J</pre><script>document.title='broken'</script>" },
        { output_type: "error", ename: "E", evalue: "v", traceback: ["\u001b[0;31mE\u001b[0m: <script>document.title='broken'</script>"] },
      ],
    },
  ],
});
const swept = `
printf 'step,loss,a,b,c,d,e,f,g,h,i,j,k,l\\n1,%s,1,1,1,1,1,1,1,1,1,1,1,1\\n' "$1" >metrics.csv
printf '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"><rect width="%s" height="9"/></svg>' "$2" >plot.svg`;

let browser, server, root, foreign;
const ids = {};

// run starts an analysis and returns its id.
function run(...words) {
  return JSON.parse(execFileSync(program, ["run", "--json", ...words], { env: environment, stdio: ["ignore", "pipe", "ignore"] }).toString());
}

// tolerant is run for an analysis that fails.
function tolerant(...words) {
  try {
    return run(...words);
  } catch (failed) {
    return JSON.parse(failed.stdout.toString());
  }
}

// long begins an analysis that goes on until it is stopped.
function long(script) {
  const id = execFileSync(program, ["run", "--detach", "--label", "kind=long", "--", "sh", "-c", script], { env: environment });
  return id.toString().trim();
}

function state(id) {
  return JSON.parse(execFileSync(program, ["show", "--json", id], { env: environment }).toString());
}

function stop(id) {
  try {
    execFileSync(program, ["stop", "--now", id], { env: environment, stdio: "ignore" });
  } catch {
    // it has ended
  }
}

before(async () => {
  for (const name of examples) ids[name] = run("-f", join(process.env.EXAMPLES, name, "manifest.yaml"), "--label", `example=${name}`).id;
  ids.again = run("-f", join(process.env.EXAMPLES, "penguins", "manifest.yaml")).id;
  ids.hostile = run("--", "sh", "-c", hostile).id;
  writeFileSync(join(scratch, "hostile.ipynb"), hostileNotebook);
  ids.notebook = run("--input", `${join(scratch, "hostile.ipynb")}`, "--", "sh", "-c", "cp /inputs/hostile.ipynb . && printf '[{\"a\":0.12345678901},{\"b\":[1]}]' >records.json").id;
  for (const rate of ["0.1", "0.01"]) for (const seed of ["1", "2", "3"]) run("--label", "sweep=s1", "--label", `rate=${rate}`, "--label", `seed=${seed}<b>`, "--", "sh", "-c", swept, "sh", `${seed}.5`, `${seed}0`);
  ids.failed = tolerant("--", "sh", "-c", "echo no >&2; exit 3").id;
  ids.long = long('i=0; while :; do i=$((i+1)); printf "step %s \\033[31m<b>\\n" $i; sleep 0.2; done');
  server = spawn(program, ["ui"], { env: environment, stdio: ["ignore", "pipe", "inherit"] });
  root = await new Promise((resolve) => server.stdout.once("data", (line) => resolve(line.toString().trim())));
  browser = await chromium.launch({ executablePath: process.env.SCIDEX_OCI_BROWSER, args: ["--no-sandbox", "--host-resolver-rules=MAP hostile.invalid 127.0.0.1"] });
});

after(async () => {
  await browser?.close();
  foreign?.close();
  if (server) {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    assert.equal(await ended, 0, "scidex-oci ui ends well");
  }
  for (const id of [ids.long, ids.stopped]) if (id) stop(id);
  rmSync(scratch, { recursive: true, force: true });
});

const pages = () => ({
  list: "",
  "list of nothing": "?text=nothing",
  live: "live",
  "a run that goes on": `run?id=${ids.long}`,
  "a run that failed": `run?id=${ids.failed}`,
  "a hostile run": `run?id=${ids.hostile}`,
  "its outputs": `outputs?id=${ids.hostile}`,
  "a hostile notebook": `run?id=${ids.notebook}`,
  "a sweep": "sweep?label=sweep%3Ds1&x=seed&by=rate&y=loss",
  "a sweep of one": `sweep?label=example%3Dfmri`,
  "no sweep": "sweep?label=sweep%3Dnone",
  comparison: `against?id=${ids.penguins}&with=${ids.again}`,
  "comparison of different runs": `against?id=${ids.fmri}&with=${ids.penguins}`,
  message: "run?id=nothing",
  ...Object.fromEntries(examples.map((name) => [name, `run?id=${ids[name]}`])),
});

// watched is a page of which is noted what it does that it should not.
async function watched(context, seen) {
  const page = await context.newPage();
  page.on("pageerror", (error) => seen.push(`error ${error}`));
  page.on("console", (message) => message.text().includes("404") || seen.push(`console ${message.text()}`));
  page.on("request", (request) => request.url().startsWith(root) || request.url().startsWith("data:") || seen.push(`loads ${request.url()}`));
  return page;
}

for (const colorScheme of ["light", "dark"]) {
  test(`pages are accessible and load nothing else, ${colorScheme}`, async () => {
    // Chromium lets a test's own script through the policy; the page's have to obey it.
    const context = await browser.newContext({ colorScheme });
    for (const [name, address] of Object.entries(pages())) {
      const seen = [];
      const page = await watched(context, seen);
      await page.goto(root + address);
      await page.evaluate(axe);
      const { violations, passes } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200))}`), [], name);
      assert.ok(passes.length > 15, `${name}: axe has looked at ${passes.length} rules only`);
      assert.deepEqual(seen, [], name);
      assert.notEqual(await page.title(), "broken", name);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than the window`);
      if (process.env.SCREENSHOTS) {
        await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name.replaceAll(" ", "-")}-${colorScheme}.png`) });
      }
      await page.close();
    }
    await context.close();
  });
}

test("pages fit into narrow and wide windows", async () => {
  for (const width of [400, 900, 1400]) {
    const context = await browser.newContext({ viewport: { width, height: 800 } });
    const page = await context.newPage();
    for (const [name, address] of Object.entries(pages())) {
      await page.goto(root + address);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than ${width} pixels`);
      const commands = await page.locator(".runs td code").evaluateAll((all) => all.map((code) => code.parentElement.clientWidth));
      assert.ok(commands.every((wide) => wide > 150), `${name} breaks commands within their words at ${width} pixels: ${commands}`);
    }
    await context.close();
  }
});

test("a notebook covers and forges nothing", async () => {
  const page = await browser.newPage();
  await page.goto(`${root}run?id=${ids.notebook}`);
  const notebook = page.locator("#notebooks");
  assert.equal(await notebook.locator(".cell").count(), 2);
  assert.equal(await notebook.locator(".failure, iframe, form, input, script, style, svg, img").count(), 0);
  assert.equal(await notebook.evaluate((part) => [...part.querySelectorAll("*")].filter((e) => ["fixed", "sticky"].includes(getComputedStyle(e).position)).length), 0);
  assert.ok(await page.evaluate(() => [...document.querySelectorAll("#notebooks a")].every((a) => a.getAttribute("href").startsWith("#"))));
  await page.getByRole("link", { name: "In [1] ended with an error" }).click();
  assert.match(page.url(), /#error-1$/);
  await page.close();
});

test("a sweep is chosen by keyboard, and leads to its runs", async () => {
  const page = await browser.newPage();
  await page.goto(`${root}?label=sweep%3Ds1`);
  await page.getByRole("link", { name: "Their parameters against a metric" }).click();
  await page.waitForURL(/sweep\?/);
  assert.equal(await page.locator(".scatter .mark title").count(), 6);
  assert.equal(await page.locator(".multiples img").count(), 6);
  await tabTo(page, "#y");
  await page.keyboard.type("loss");
  await tabTo(page, ".search button");
  await page.keyboard.press("Enter");
  await page.waitForURL(/y=loss/);
  assert.match(await page.locator("#plot-h").textContent(), /^loss by /);
  await page.locator(".multiples a").first().click();
  await page.waitForURL(/run\?id=/);
  await page.getByRole("link", { name: "sweep=s1" }).click();
  await page.waitForURL(/sweep\?label=/);
  await page.close();
});

test("axe sees what is wrong", async () => {
  const page = await browser.newPage();
  await page.setContent('<html><body><img src="data:,"><input><p style="color:#ccc">pale</p></body></html>');
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => axe.run());
  for (const id of ["image-alt", "label", "color-contrast"]) assert.ok(violations.some((v) => v.id === id), id);
  await page.close();
});

// press goes on with the keyboard until what has the focus is the one looked for.
async function tabTo(page, selector) {
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((s) => document.activeElement?.matches(s), selector)) return;
  }
  assert.fail(`the keyboard does not reach ${selector}`);
}

test("a keyboard is enough", async () => {
  const page = await browser.newPage();
  await page.goto(root);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "To the content");
  await tabTo(page, "#label");
  await page.keyboard.type("example=fmri");
  await page.keyboard.press("Enter");
  await page.waitForURL(/label=example/);
  assert.deepEqual(await page.locator("tbody th").allTextContents(), [`${ids.fmri}@1`]);
  await tabTo(page, "tbody a");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid", "the focus is seen");
  await page.keyboard.press("Enter");
  await page.waitForURL(/run\?id=/);
  await tabTo(page, "#with");
  await page.keyboard.type(ids.penguins);
  await page.keyboard.press("Enter");
  await page.waitForURL(/against/);
  assert.match(await page.locator("h1").textContent(), new RegExp(`${ids.fmri}@1 and ${ids.penguins}@1`));
  await page.close();
});

test("what goes on is kept up to date", async () => {
  const page = await browser.newPage();
  await page.goto(`${root}run?id=${ids.long}`);
  const log = page.locator('[data-pieces="stdout"]');
  // A number, since the lines that are shown do not become more when the log is long.
  const step = (after) => {
    const all = [...document.querySelector('[data-pieces="stdout"]').textContent.matchAll(/step (\d+)/g)];
    const last = Number(all.at(-1)?.[1] ?? 0);
    return after === null ? last : last > after;
  };
  await page.waitForFunction(step, await page.evaluate(step, null));
  assert.match(await log.textContent(), /step \d+ \\x1b\[31m<b>/);
  assert.equal(await log.locator("b").count(), 0);
  await page.goto(`${root}live`);
  const first = page.locator("#going tbody a").first();
  await first.focus();
  ids.stopped = long("sleep 1000");
  await page.waitForFunction((name) => document.querySelector("#going").textContent.includes(name), ids.stopped);
  assert.match(await page.locator("#status").textContent(), /^2 runs go on\.$/);
  assert.equal(await page.evaluate(() => document.activeElement.textContent), `${ids.long}@1`, "the focus stays");
  await page.close();
});

test("a run is stopped by keyboard, and its page says so", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const other = await context.newPage(); // it sees the end by itself
  await other.goto(`${root}run?id=${ids.stopped}`);
  await page.goto(`${root}run?id=${ids.stopped}`);
  await tabTo(page, "summary");
  await page.keyboard.press("Enter");
  await tabTo(page, ".stop button");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".state.canceled");
  await other.waitForSelector(".state.canceled");
  assert.equal(state(ids.stopped).reason, "stopped");
  await context.close();
});

test("without scripts all is there, with a link to look again", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${root}live`);
  assert.match(await page.locator("tbody").textContent(), new RegExp(ids.long));
  await page.getByRole("link", { name: "look again" }).click();
  assert.equal(page.url(), `${root}live`);
  await context.close();
});

test("an output is a file to keep, whatever it is", async () => {
  const page = await browser.newPage();
  await page.goto(`${root}run?id=${ids.hostile}`);
  for (const name of ["page.html", "drawing.svg"]) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#files").getByRole("link", { name }).click()]);
    assert.equal(download.suggestedFilename(), name);
    assert.match(readFileSync(await download.path(), "utf8"), /<script>/);
    const address = download.url();
    assert.ok(!address.startsWith(root), "it opens nothing but this file");
    const other = await browser.newPage();
    await assert.rejects(other.goto(address), /Download is starting|ERR_ABORTED/, "also when it is opened by its address");
    await other.close();
  }
  assert.notEqual(await page.title(), "broken");
  await page.close();
});

test("another site cannot read, frame or stop, even if it knows the address", async () => {
  foreign = createServer((request, response) => response.setHeader("Content-Type", "text/html").end("<!DOCTYPE html><title>foreign</title>"));
  await new Promise((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  const at = `:${foreign.address().port}/`;
  const own = await browser.newPage();
  await own.goto(`${root}run?id=${ids.long}`);
  const proof = await own.locator('input[name="proof"]').inputValue();
  await own.close();
  for (const site of [`http://127.0.0.1${at}`, `http://hostile.invalid${at}`]) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const answers = []; // of ours
    page.on("response", (response) => response.url().startsWith(root) && answers.push(response.status()));
    await page.goto(site);
    const got = await page.evaluate(async (root) => {
      const tried = async (what) => what.then((value) => value, (error) => `refused: ${error.message}`);
      // What Chromium blocks may tell nothing at all.
      const loaded = (element) => new Promise((resolve) => {
        element.onload = () => resolve("loaded");
        element.onerror = () => resolve("refused");
        document.body.append(element);
        setTimeout(() => resolve("refused"), 3000);
      });
      const script = Object.assign(document.createElement("script"), { src: `${root}live.js` });
      const style = Object.assign(document.createElement("link"), { rel: "stylesheet", href: root });
      const frame = Object.assign(document.createElement("iframe"), { src: root });
      await loaded(frame);
      const events = new EventSource(`${root}events`);
      return {
        read: await tried(fetch(root).then((r) => r.text())),
        blind: await tried(fetch(root, { mode: "no-cors" }).then((r) => r.type)),
        script: await loaded(script),
        style: await loaded(style),
        events: await new Promise((resolve) => {
          events.onmessage = () => resolve("read");
          events.addEventListener("runs", () => resolve("read"));
          events.onerror = () => resolve("refused");
          setTimeout(() => resolve("refused"), 3000);
        }),
        post: await tried(fetch(`${root}stop`, { method: "POST", mode: "no-cors" }).then((r) => r.type)),
      };
    }, root);
    assert.match(got.read, /^refused/, site);
    assert.match(got.blind, /^refused/, site);
    assert.equal(got.script, "refused", site);
    assert.equal(got.style, "refused", site);
    assert.equal(got.events, "refused", site);
    await page.evaluate(({ root, id, proof }) => {
      const form = Object.assign(document.createElement("form"), { method: "post", action: `${root}stop` });
      for (const [name, value] of Object.entries({ id, proof })) form.append(Object.assign(document.createElement("input"), { name, value }));
      document.body.append(form);
      form.submit();
    }, { root, id: `${ids.long}@1`, proof });
    await page.waitForURL(`${root}stop`, { timeout: 20_000 });
    assert.match(await page.locator("body").textContent(), /Another site has led here/, site);
    assert.ok(answers.length > 0 && answers.every((status) => status === 403), `${site}: ${answers}`);
    assert.equal(state(ids.long).state, "running", site);
    await context.close();
  }
});
