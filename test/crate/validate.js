// node validate.js CONTEXTS CRATE...: opens each crate with the library ro-crate, has its validator look at metadata and
// files, and compares the contexts of our own tests (the directory CONTEXTS) with the one that the library brings along.
// There is no network: a context that is asked for is the library's, which is of RO-Crate 1.2 and keeps the terms of 1.1, or
// for the terms of Workflow Run our tests'.
const fs = require("fs");
const path = require("path");
const official = require("ro-crate/lib/context.json");

const [contexts, ...crates] = process.argv.slice(2);
const ours = (name) => JSON.parse(fs.readFileSync(path.join(contexts, name), "utf8"));
const served = {
  "https://w3id.org/ro/crate/1.1/context": official,
  "https://w3id.org/ro/terms/workflow-run/context": ours("run-context.json"),
};
globalThis.fetch = async (url) => {
  if (!served[url]) throw new Error(`no network for ${url}`);
  return { ok: true, status: 200, json: async () => served[url] };
};
const { ROCrate, Validator } = require("ro-crate");

const faults = [];

for (const [term, iri] of Object.entries(ours("crate-context.json")["@context"])) {
  if (official["@context"][term] !== iri) faults.push(`${term} is ${iri} to our tests and ${official["@context"][term]} to the library`);
}

// regularFiles: what is in a directory, by its path in it, but for the metadata.
function regularFiles(top) {
  return fs
    .readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "ro-crate-metadata.json")
    .map((entry) => path.relative(top, path.join(entry.parentPath ?? entry.path, entry.name)));
}

async function look(top) {
  const metadata = JSON.parse(fs.readFileSync(path.join(top, "ro-crate-metadata.json"), "utf8"));
  const crate = new ROCrate(metadata, { array: true, link: true });
  await crate.resolveContext();
  const validator = new Validator(crate);
  await validator.validate();
  const files = regularFiles(top);
  // The library takes a file's name as it stands; ours are percent-encoded, as RO-Crate wants them.
  const named = Object.fromEntries(files.map((name) => [encodeURI(name), { exists: true, inCrate: false, isDir: false }]));
  validator.checkFiles(named);
  for (const result of validator.results) {
    if (result.status !== "success") faults.push(`${top}: ${result.status}: ${result.message}${result.entity ? ` (${result.entity})` : ""}`);
  }
  const [run] = crate.rootDataset.mentions ?? [];
  if (run?.["@type"]?.[0] !== "CreateAction") faults.push(`${top}: the root does not lead to a CreateAction`);
  for (const wanted of ["instrument", "result", "startTime", "endTime", "actionStatus", "resourceUsage"]) {
    if (!run?.[wanted]?.length) faults.push(`${top}: the CreateAction has no ${wanted}`);
    if (!crate.resolveTerm(wanted)) faults.push(`${top}: ${wanted} is no term`);
  }
  console.log(`${top}: ${files.length} files, ${[...crate.entities()].length} entities, ${validator.results.length} rules looked at`);
}

(async () => {
  for (const crate of crates) await look(crate);
  for (const fault of faults) console.error(`FAIL ${fault}`);
  process.exit(faults.length > 0 || crates.length === 0 ? 1 : 0);
})();
