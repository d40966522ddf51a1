cwlVersion: v1.2
class: CommandLineTool
doc: takes as many MiB of memory as it is told, of 64
requirements:
  DockerRequirement: {dockerPull: "docker.io/debian:stable-slim"}
  ResourceRequirement: {ramMin: 64, coresMin: 2}
baseCommand: [python3, -c, "import sys; print(len(b'x' * (int(sys.argv[1]) << 20)))"]
inputs: {mib: {type: int, inputBinding: {}}}
outputs: {out: {type: stdout}}
stdout: bytes.txt
