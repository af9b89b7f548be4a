/* flame_tree.c -- to come. */
typedef int msnap_flame_tree_unused;
