import networkx as nx

print({k: v.round(6).tolist() for k, v in nx.spring_layout(nx.path_graph(3), seed=1).items()})
