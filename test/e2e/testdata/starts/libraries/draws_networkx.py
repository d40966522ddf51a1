import networkx as nx

print(sorted(nx.gnp_random_graph(30, 0.2).edges())[:20])
print(nx.utils.create_random_state(None).rand())
