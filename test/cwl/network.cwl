cwlVersion: v1.2
class: CommandLineTool
doc: gets a page
requirements:
  DockerRequirement: {dockerPull: "docker.io/debian:stable-slim"}
  NetworkAccess: {networkAccess: true}
baseCommand: [curl, -sSf]
inputs: {url: {type: string, inputBinding: {}}}
outputs: {out: {type: stdout}}
stdout: page.txt
